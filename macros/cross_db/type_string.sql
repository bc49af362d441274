{# The type of a text of any length. #}
{% macro type_string() %}
    {{- return(adapter.dispatch('type_string', 'synctrail')()) -}}
{% endmacro %}

{% macro default__type_string() %}
    {{- return(dbt.type_string()) -}}
{% endmacro %}

{# A column of the type text holds 256 bytes. https://docs.aws.amazon.com/redshift/latest/dg/r_Character_types.html #}
{% macro redshift__type_string() %}
    {{- return('varchar(65535)') -}}
{% endmacro %}
