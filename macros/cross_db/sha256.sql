{# The SHA-256 of a text in UTF-8, in lower-case hexadecimal digits. #}
{% macro sha256(text) %}
    {{- return(adapter.dispatch('sha256', 'synctrail')(text)) -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/SHA2.html, https://spark.apache.org/docs/latest/api/sql/#sha2,
   https://docs.snowflake.com/en/sql-reference/functions/sha2 #}
{% macro default__sha256(text) %}
    {{- return('sha2(' ~ text ~ ', 256)') -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/hash_functions#sha256 #}
{% macro bigquery__sha256(text) %}
    {{- return('to_hex(sha256(' ~ text ~ '))') -}}
{% endmacro %}

{# https://duckdb.org/docs/stable/sql/functions/text #}
{% macro duckdb__sha256(text) %}
    {{- return('sha256(' ~ text ~ ')') -}}
{% endmacro %}

{# https://www.postgresql.org/docs/current/functions-binarystring.html #}
{% macro postgres__sha256(text) %}
    {{- return("encode(sha256(convert_to(" ~ text ~ ", 'UTF8')), 'hex')") -}}
{% endmacro %}

{% macro redshift__sha256(text) %}
    {{- return(synctrail.default__sha256(text)) -}}
{% endmacro %}
