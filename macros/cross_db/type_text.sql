{# The type of a text of any length. #}
{% macro type_text() %}
    {{- return(adapter.dispatch('type_text', 'synctrail')()) -}}
{% endmacro %}

{% macro default__type_text() %}
    {{- return(dbt.type_string()) -}}
{% endmacro %}

{# A column of the type text holds 256 bytes. https://docs.aws.amazon.com/redshift/latest/dg/r_Character_types.html #}
{% macro redshift__type_text() %}
    {{- return('varchar(65535)') -}}
{% endmacro %}
