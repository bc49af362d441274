{# A column that holds JSON, of whatever type the vendor gave it there, as JSON text. #}
{% macro payload_text(expression, data_type) %}
    {{- return(adapter.dispatch('payload_text', 'synctrail')(expression, data_type)) -}}
{% endmacro %}

{% macro default__payload_text(expression, data_type) %}
    {{- return('cast(' ~ expression ~ ' as ' ~ dbt.type_string() ~ ')') -}}
{% endmacro %}

{#
    Of an SQL null, to_json_string makes the text null.
    https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#to_json_string
#}
{% macro bigquery__payload_text(expression, data_type) %}
    {%- if modules.re.match('(struct|record|json)', data_type, modules.re.IGNORECASE) -%}
        {{- return('if(' ~ expression ~ ' is null, null, to_json_string(' ~ expression ~ '))') -}}
    {%- endif -%}
    {{- return(synctrail.default__payload_text(expression, data_type)) -}}
{% endmacro %}

{# A struct or map as text is not JSON. https://duckdb.org/docs/stable/data/json/creating_json #}
{% macro duckdb__payload_text(expression, data_type) %}
    {%- if modules.re.match('(struct|map)', data_type, modules.re.IGNORECASE) -%}
        {%- set expression = 'to_json(' ~ expression ~ ')' -%}
    {%- endif -%}
    {{- return(synctrail.default__payload_text(expression, data_type)) -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/JSON_SERIALIZE.html #}
{% macro redshift__payload_text(expression, data_type) %}
    {%- if data_type | lower == 'super' -%}
        {{- return('json_serialize(' ~ expression ~ ')') -}}
    {%- endif -%}
    {{- return('cast(' ~ expression ~ ' as ' ~ synctrail.type_text() ~ ')') -}}
{% endmacro %}

{# https://docs.snowflake.com/en/sql-reference/functions/to_json #}
{% macro snowflake__payload_text(expression, data_type) %}
    {%- if modules.re.match('(variant|object|array|map)', data_type, modules.re.IGNORECASE) -%}
        {%- set expression = 'to_json(' ~ expression ~ ')' -%}
    {%- endif -%}
    {{- return(synctrail.default__payload_text(expression, data_type)) -}}
{% endmacro %}

{# https://spark.apache.org/docs/latest/api/sql/#to_json #}
{% macro spark__payload_text(expression, data_type) %}
    {%- if modules.re.match('(struct|map|variant)', data_type, modules.re.IGNORECASE) -%}
        {%- set expression = 'to_json(' ~ expression ~ ')' -%}
    {%- endif -%}
    {{- return(synctrail.default__payload_text(expression, data_type)) -}}
{% endmacro %}
