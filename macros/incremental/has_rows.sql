{# Whether a query gives any row: asked first, so that a model need not hold the SQL of what is rarely the case. #}
{% macro has_rows(query) %}
    {{- return(execute and run_query('select 1 as one from (' ~ query ~ ') as listed limit 1').rows | length > 0) -}}
{% endmacro %}
