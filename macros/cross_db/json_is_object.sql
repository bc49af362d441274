{#
    True where a text is a JSON object; false where it is anything else, malformed JSON among it; null where
    it is null.
#}
{% macro json_is_object(text) %}
    {{- return(adapter.dispatch('json_is_object', 'synctrail')(text)) -}}
{% endmacro %}

{% macro default__json_is_object(text) %}
    {{- return(synctrail.unsupported_adapter('json_is_object')) -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_type #}
{% macro bigquery__json_is_object(text) %}
    {{- return(
        '(case when ' ~ text ~ ' is not null then coalesce(json_type(safe.parse_json(' ~ text
        ~ ", wide_number_mode => 'round')) = 'object', false) end)"
    ) -}}
{% endmacro %}

{#
    Valid JSON that begins with a brace, after JSON's own white space: one parse, where json_type takes a
    second.
#}
{% macro duckdb__json_is_object(text) %}
    {{- return(
        '(json_valid(' ~ text ~ ') and left(ltrim(' ~ text
        ~ ", ' ' || chr(9) || chr(10) || chr(13)), 1) = '{')"
    ) -}}
{% endmacro %}

{#
    What Postgres cannot store (an escaped null character, half of a surrogate pair) is no object either.
    https://www.postgresql.org/docs/current/functions-info.html#FUNCTIONS-INFO-VALIDITY, from version 16 on
#}
{% macro postgres__json_is_object(text) %}
    {{- return(
        '(pg_input_is_valid(' ~ text ~ ", 'jsonb') and left(ltrim(" ~ text
        ~ ", ' ' || chr(9) || chr(10) || chr(13)), 1) = '{')"
    ) -}}
{% endmacro %}

{#
    An object in which a key occurs twice is none, unless json_parse_dedup_attributes is on.
    https://docs.aws.amazon.com/redshift/latest/dg/CAN_JSON_PARSE.html
#}
{% macro redshift__json_is_object(text) %}
    {{- return(
        '(can_json_parse(' ~ text ~ ') and left(ltrim(' ~ text
        ~ ", ' ' || chr(9) || chr(10) || chr(13)), 1) = '{')"
    ) -}}
{% endmacro %}

{% macro snowflake__json_is_object(text) %}
    {{- return(
        '(case when ' ~ text ~ ' is not null then coalesce(is_object(' ~ synctrail.snowflake_json(text)
        ~ '), false) end)'
    ) -}}
{% endmacro %}

{#
    JSON text as a variant, null where it is no JSON; of equal keys, the last one counts.
    https://docs.snowflake.com/en/sql-reference/functions/try_parse_json
#}
{% macro snowflake_json(text) %}
    {{- return('try_parse_json(' ~ text ~ ", 'd')") -}}
{% endmacro %}

{% macro spark__json_is_object(text) %}
    {{- return(
        '(case when ' ~ text ~ ' is not null then ' ~ synctrail.spark_json_object(text) ~ ' is not null end)'
    ) -}}
{% endmacro %}

{#
    A JSON object as a map of variants; null where the text is none. Spark's readers stop at the end of the
    first value and let anything follow it; inside brackets, what follows is an error.
    https://spark.apache.org/docs/latest/api/sql/#try_parse_json
#}
{% macro spark_json_object(text) %}
    {{- return(
        "try_variant_get(try_parse_json('[' || " ~ text ~ " || ']'), '$[0]', 'map<string, variant>')"
    ) -}}
{% endmacro %}
