{# The set operator that leaves out rows that are there twice. #}
{% macro union_distinct() %}
    {{- return(adapter.dispatch('union_distinct', 'synctrail')()) -}}
{% endmacro %}

{% macro default__union_distinct() %}
    {{- return('union distinct') -}}
{% endmacro %}

{# It knows no other word than ALL: https://docs.aws.amazon.com/redshift/latest/dg/r_UNION.html #}
{% macro redshift__union_distinct() %}
    {{- return('union') -}}
{% endmacro %}
