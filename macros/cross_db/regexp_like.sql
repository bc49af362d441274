{#
    True where a part of the text matches the pattern. The pattern is a plain text, not SQL: Redshift takes no
    pattern from a column. It keeps to what RE2, Java and POSIX share; see the seed error_category_rules.
#}
{% macro regexp_like(text, pattern) %}
    {{- return(adapter.dispatch('regexp_like', 'synctrail')(text, pattern)) -}}
{% endmacro %}

{% macro default__regexp_like(text, pattern) %}
    {{- return(synctrail.unsupported_adapter('regexp_like')) -}}
{% endmacro %}

{# https://duckdb.org/docs/stable/sql/functions/regular_expressions #}
{% macro duckdb__regexp_like(text, pattern) %}
    {{- return('regexp_matches(' ~ text ~ ', ' ~ synctrail.duckdb__regexp_literal(pattern) ~ ')') -}}
{% endmacro %}

{# https://www.postgresql.org/docs/current/functions-matching.html#FUNCTIONS-POSIX-REGEXP #}
{% macro postgres__regexp_like(text, pattern) %}
    {{- return('(' ~ text ~ ' ~ ' ~ synctrail.postgres__regexp_literal(pattern) ~ ')') -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/pattern-matching-conditions-posix.html #}
{% macro redshift__regexp_like(text, pattern) %}
    {{- return('(' ~ text ~ ' ~ ' ~ synctrail.redshift__regexp_literal(pattern) ~ ')') -}}
{% endmacro %}

{# regexp_like matches the whole text: https://docs.snowflake.com/en/sql-reference/functions/regexp_instr #}
{% macro snowflake__regexp_like(text, pattern) %}
    {{- return('(regexp_instr(' ~ text ~ ', ' ~ synctrail.snowflake__regexp_literal(pattern) ~ ') > 0)') -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/string_functions#regexp_contains #}
{% macro bigquery__regexp_like(text, pattern) %}
    {{- return('regexp_contains(' ~ text ~ ', ' ~ synctrail.bigquery__regexp_literal(pattern) ~ ')') -}}
{% endmacro %}

{# https://spark.apache.org/docs/latest/api/sql/#rlike #}
{% macro spark__regexp_like(text, pattern) %}
    {{- return('(' ~ text ~ ' rlike ' ~ synctrail.spark__regexp_literal(pattern) ~ ')') -}}
{% endmacro %}
