{# Whether the engine works a CTE out once, however often a statement refers to it. #}
{% macro keeps_ctes() %}
    {{- return(adapter.dispatch('keeps_ctes', 'synctrail')()) -}}
{% endmacro %}

{% macro default__keeps_ctes() %}
    {{- return(false) -}}
{% endmacro %}

{# https://duckdb.org/docs/stable/sql/query_syntax/with #}
{% macro duckdb__keeps_ctes() %}
    {{- return(true) -}}
{% endmacro %}

{# https://www.postgresql.org/docs/current/queries-with.html#QUERIES-WITH-CTE-MATERIALIZATION #}
{% macro postgres__keeps_ctes() %}
    {{- return(true) -}}
{% endmacro %}
