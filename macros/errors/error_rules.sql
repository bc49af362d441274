{#
    The rules in the order in which they are tried: the user's own (variable synctrail_error_rules), then the
    package's. rule_number is their place in that order.
#}
{% macro error_rules() %}
    {%- set own_rules = var('synctrail_error_rules', none) -%}
    select
        row_number() over (order by is_of_package, priority, pattern, category) as rule_number,
        is_of_package,
        destination,
        pattern,
        category,
        is_retryable,
        suggested_action
    from (
        {%- if own_rules %}
        select 0 as is_of_package, {{ synctrail.error_rule_columns() }}
        from {{ ref(own_rules) }}
        union all
        {%- endif %}
        select 1 as is_of_package, {{ synctrail.error_rule_columns() }}
        from {{ ref('synctrail', 'error_category_rules') }}
    ) as all_rules
    where pattern is not null
{%- endmacro %}

{# dbt writes a seed's null as the text None where it talks to Spark through a session. #}
{% macro error_rule_columns() %}
    {{- return(
        'cast(priority as ' ~ dbt.type_int() ~ ') as priority, '
        ~ "nullif(nullif(trim(cast(destination as " ~ dbt.type_string() ~ ")), ''), 'None') as destination, "
        ~ 'lower(cast(pattern as ' ~ dbt.type_string() ~ ')) as pattern, '
        ~ 'cast(category as ' ~ dbt.type_string() ~ ') as category, '
        ~ 'cast(is_retryable as ' ~ dbt.type_boolean() ~ ') as is_retryable, '
        ~ 'cast(suggested_action as ' ~ dbt.type_string() ~ ') as suggested_action'
    ) -}}
{% endmacro %}
