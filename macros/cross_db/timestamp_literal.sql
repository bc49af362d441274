{# A UTC timestamp literal; value is text such as '2025-12-31 00:00:00.000000', whose six digits Snowflake wants. #}
{% macro timestamp_literal(value) %}
    {{- return(adapter.dispatch('timestamp_literal', 'synctrail')(value)) -}}
{% endmacro %}

{% macro default__timestamp_literal(value) %}
    {{- return("cast('" ~ value ~ "' as " ~ dbt.type_timestamp() ~ ")") -}}
{% endmacro %}

{# Without its zone, BigQuery reads a literal in the project's default time zone. #}
{% macro bigquery__timestamp_literal(value) %}
    {{- return("timestamp '" ~ value ~ "+00:00'") -}}
{% endmacro %}

{# A cast would read it by the session's format: https://docs.snowflake.com/en/sql-reference/parameters#timestamp-input-format #}
{% macro snowflake__timestamp_literal(value) %}
    {{- return("to_timestamp_ntz('" ~ value ~ "', 'YYYY-MM-DD HH24:MI:SS.FF6')") -}}
{% endmacro %}

{# Without its zone, Spark reads a literal in the session's time zone. #}
{% macro spark__timestamp_literal(value) %}
    {{- return("cast('" ~ value ~ "+00:00' as timestamp)") -}}
{% endmacro %}
