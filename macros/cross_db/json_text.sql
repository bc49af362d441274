{# The value of a JSON string without quotes and escapes; any other JSON value as it is written. #}
{% macro json_text(json) %}
    {{- return(adapter.dispatch('json_text', 'synctrail')(json)) -}}
{% endmacro %}

{% macro default__json_text(json) %}
    {{- return(synctrail.unsupported_adapter('json_text')) -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_value #}
{% macro bigquery__json_text(json) %}
    {{- return('case when left(' ~ json ~ ", 1) = '\"' then json_value(" ~ json ~ ", '$') else " ~ json ~ ' end') -}}
{% endmacro %}

{# https://duckdb.org/docs/stable/data/json/json_functions #}
{% macro duckdb__json_text(json) %}
    {{- return(
        'case when left(' ~ json ~ ", 1) = '\"' then "
        ~ "json_extract_string(try_cast(" ~ json ~ " as json), '$') else "
        ~ json ~ ' end'
    ) -}}
{% endmacro %}

{# https://www.postgresql.org/docs/current/functions-json.html #}
{% macro postgres__json_text(json) %}
    {{- return(
        'case when left(' ~ json ~ ", 1) = '\"' then cast(" ~ json ~ " as jsonb) #>> '{}' else " ~ json ~ ' end'
    ) -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/query-super.html#dynamic-typing-lax-processing #}
{% macro redshift__json_text(json) %}
    {{- return(
        'case when left(' ~ json ~ ", 1) = '\"' then cast(json_parse(" ~ json ~ ') as '
        ~ synctrail.type_text() ~ ') else ' ~ json ~ ' end'
    ) -}}
{% endmacro %}

{# https://docs.snowflake.com/en/sql-reference/functions/as_char-varchar #}
{% macro snowflake__json_text(json) %}
    {{- return(
        'case when left(' ~ json ~ ", 1) = '\"' then as_varchar(" ~ synctrail.snowflake_json(json) ~ ') else '
        ~ json ~ ' end'
    ) -}}
{% endmacro %}

{# https://spark.apache.org/docs/latest/api/sql/#try_variant_get #}
{% macro spark__json_text(json) %}
    {{- return(
        'case when left(' ~ json ~ ", 1) = '\"' then "
        ~ "try_variant_get(try_parse_json(" ~ json ~ "), '$', 'string') else "
        ~ json ~ ' end'
    ) -}}
{% endmacro %}
