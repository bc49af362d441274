{# A timestamp column of any kind as the package's own: UTC, microseconds, whatever the session's time zone. #}
{% macro utc_timestamp(expression) %}
    {{- return(adapter.dispatch('utc_timestamp', 'synctrail')(expression)) -}}
{% endmacro %}

{% macro default__utc_timestamp(expression) %}
    {{- synctrail.unsupported_adapter('utc_timestamp') -}}
{% endmacro %}

{# A cast from timestamptz to timestamp would shift by the session's time zone; the epoch does not. #}
{% macro duckdb__utc_timestamp(expression) %}
    {{- return('make_timestamp(epoch_us(' ~ expression ~ '))') -}}
{% endmacro %}

{# Spark's timestamp is an instant; a timestamp_ntz is read as UTC.
   https://spark.apache.org/docs/latest/sql-ref-datatypes.html #}
{% macro spark__utc_timestamp(expression) %}
    {{- return('cast(' ~ expression ~ ' as timestamp)') -}}
{% endmacro %}
