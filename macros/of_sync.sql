{#
    A condition: rows of one sync. Ids are text in every model, so a number is taken as text.

    source_system: needed only where two source systems have a sync of this id; without it, both count
#}
{% macro of_sync(sync_id, source_system=none) %}
    {%- set conditions = ['sync_id = ' ~ dbt.string_literal(dbt.escape_single_quotes(sync_id | string))] -%}
    {%- if source_system is not none -%}
        {%- do conditions.append('source_system = ' ~ dbt.string_literal(dbt.escape_single_quotes(source_system))) -%}
    {%- endif -%}
    {{- return(conditions | join(' and ')) -}}
{% endmacro %}
