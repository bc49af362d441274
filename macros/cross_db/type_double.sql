{# The type of a floating-point number of 64 bits; dbt's own type_float is narrower on some warehouses. #}
{% macro type_double() %}
    {{- return(adapter.dispatch('type_double', 'synctrail')()) -}}
{% endmacro %}

{% macro default__type_double() %}
    {{- return('double') -}}
{% endmacro %}

{% macro postgres__type_double() %}
    {{- return('double precision') -}}
{% endmacro %}

{% macro bigquery__type_double() %}
    {{- return('float64') -}}
{% endmacro %}
