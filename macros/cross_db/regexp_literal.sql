{#
    A regular expression as a string literal of the warehouse; backslashes reach the engine as they are written. It is
    called for hundreds of patterns in a model: so nothing in it is dispatched but itself.
#}
{% macro regexp_literal(pattern) %}
    {{- return(adapter.dispatch('regexp_literal', 'synctrail')(pattern)) -}}
{% endmacro %}

{% macro default__regexp_literal(pattern) %}
    {{- return(synctrail.unsupported_adapter('regexp_literal')) -}}
{% endmacro %}

{% macro duckdb__regexp_literal(pattern) %}
    {{- return("'" ~ pattern | replace("'", "''") ~ "'") -}}
{% endmacro %}

{# standard_conforming_strings: https://www.postgresql.org/docs/current/sql-syntax-lexical.html #}
{% macro postgres__regexp_literal(pattern) %}
    {{- return("'" ~ pattern | replace("'", "''") ~ "'") -}}
{% endmacro %}

{# Two backslashes for one: https://docs.aws.amazon.com/redshift/latest/dg/pattern-matching-conditions-posix.html #}
{% macro redshift__regexp_literal(pattern) %}
    {{- return("'" ~ pattern | replace('\\', '\\\\') | replace("'", "''") ~ "'") -}}
{% endmacro %}

{# https://docs.snowflake.com/en/sql-reference/functions-regexp#escape-characters-and-caveats #}
{% macro snowflake__regexp_literal(pattern) %}
    {{- return("'" ~ pattern | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#escape_sequences #}
{% macro bigquery__regexp_literal(pattern) %}
    {{- return("'" ~ pattern | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") -}}
{% endmacro %}

{# https://spark.apache.org/docs/latest/sql-ref-literals.html#string-literal #}
{% macro spark__regexp_literal(pattern) %}
    {{- return("'" ~ pattern | replace('\\', '\\\\') | replace("'", "\\'") ~ "'") -}}
{% endmacro %}
