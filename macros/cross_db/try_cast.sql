{# A cast that gives null where the value does not fit the type. dbt's own safe_cast fails there on Spark. #}
{% macro try_cast(expression, type) %}
    {{- return(adapter.dispatch('try_cast', 'synctrail')(expression, type)) -}}
{% endmacro %}

{% macro default__try_cast(expression, type) %}
    {{- return('try_cast(' ~ expression ~ ' as ' ~ type ~ ')') -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_functions#safe_casting #}
{% macro bigquery__try_cast(expression, type) %}
    {{- return('safe_cast(' ~ expression ~ ' as ' ~ type ~ ')') -}}
{% endmacro %}

{# https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-VALIDITY, from version 16 on #}
{% macro postgres__try_cast(expression, type) %}
    {{- return(
        'case when pg_input_is_valid(cast(' ~ expression ~ " as text), '" ~ type ~ "') then cast("
        ~ expression ~ ' as ' ~ type ~ ') end'
    ) -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/r_TRY_CAST.html #}
{% macro redshift__try_cast(expression, type) %}
    {{- return(synctrail.default__try_cast(expression, type)) -}}
{% endmacro %}
