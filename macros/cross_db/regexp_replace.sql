{# Every match of the pattern replaced; in the replacement, \1 to \9 stand for the pattern's groups. #}
{% macro regexp_replace(text, pattern, replacement) %}
    {{- return(adapter.dispatch('regexp_replace', 'synctrail')(text, pattern, replacement)) -}}
{% endmacro %}

{% macro default__regexp_replace(text, pattern, replacement) %}
    {{- return(synctrail.unsupported_adapter('regexp_replace')) -}}
{% endmacro %}

{# https://duckdb.org/docs/stable/sql/functions/regular_expressions #}
{% macro duckdb__regexp_replace(text, pattern, replacement) %}
    {{- return(synctrail.regexp_replace_call(text, pattern, replacement, ", 'g'")) -}}
{% endmacro %}

{# https://www.postgresql.org/docs/current/functions-matching.html#FUNCTIONS-POSIX-REGEXP #}
{% macro postgres__regexp_replace(text, pattern, replacement) %}
    {{- return(synctrail.regexp_replace_call(text, pattern, replacement, ", 'g'")) -}}
{% endmacro %}

{# Groups need the PCRE dialect: https://docs.aws.amazon.com/redshift/latest/dg/REGEXP_REPLACE.html #}
{% macro redshift__regexp_replace(text, pattern, replacement) %}
    {{- return(synctrail.regexp_replace_call(text, pattern, replacement, ", 1, 'p'")) -}}
{% endmacro %}

{# https://docs.snowflake.com/en/sql-reference/functions/regexp_replace #}
{% macro snowflake__regexp_replace(text, pattern, replacement) %}
    {{- return(synctrail.regexp_replace_call(text, pattern, replacement, '')) -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions#regexp_replace #}
{% macro bigquery__regexp_replace(text, pattern, replacement) %}
    {{- return(synctrail.regexp_replace_call(text, pattern, replacement, '')) -}}
{% endmacro %}

{# Java writes a group $1: https://docs.oracle.com/en/java/javase/17/docs/api/java.base/java/util/regex/Matcher.html #}
{% macro spark__regexp_replace(text, pattern, replacement) %}
    {{- return(synctrail.regexp_replace_call(text, pattern, replacement | replace('\\', '$'), '')) -}}
{% endmacro %}

{% macro regexp_replace_call(text, pattern, replacement, further_arguments) %}
    {{- return(
        'regexp_replace(' ~ text ~ ', ' ~ synctrail.regexp_literal(pattern) ~ ', '
        ~ synctrail.regexp_literal(replacement) ~ further_arguments ~ ')'
    ) -}}
{% endmacro %}
