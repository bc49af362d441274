{# A timestamp column of any kind as the package's own: UTC, microseconds, whatever the session's time zone. #}
{% macro utc_timestamp(expression) %}
    {{- return(adapter.dispatch('utc_timestamp', 'synctrail')(expression)) -}}
{% endmacro %}

{% macro default__utc_timestamp(expression) %}
    {{- synctrail.unsupported_adapter('utc_timestamp') -}}
{% endmacro %}

{#
    BigQuery's timestamp is an instant; a datetime is read in the project's default time zone, which is UTC unless set.
    https://cloud.google.com/bigquery/docs/reference/standard-sql/conversion_functions#cast_as_timestamp
#}
{% macro bigquery__utc_timestamp(expression) %}
    {{- return('cast(' ~ expression ~ ' as timestamp)') -}}
{% endmacro %}

{# A cast from timestamptz to timestamp would shift by the session's time zone; the epoch does not. #}
{% macro duckdb__utc_timestamp(expression) %}
    {{- return('make_timestamp(epoch_us(' ~ expression ~ '))') -}}
{% endmacro %}

{#
    The epoch of either kind of timestamp is that of UTC. Whole seconds and their fraction apart: an interval is made
    by floating-point numbers, which do not hold both.
#}
{% macro postgres__utc_timestamp(expression) %}
    {%- set epoch = 'extract(epoch from ' ~ expression ~ ')' -%}
    {{- return(
        "(timestamp '1970-01-01' + floor(" ~ epoch ~ ") * interval '1 second' + ("
        ~ epoch ~ ' - floor(' ~ epoch ~ ")) * interval '1 second')"
    ) -}}
{% endmacro %}

{#
    The epoch of either kind of timestamp is that of UTC, and has whole seconds alone where there is no time zone.
    https://docs.aws.amazon.com/redshift/latest/dg/r_EXTRACT_function.html
#}
{% macro redshift__utc_timestamp(expression) %}
    {{- return(
        'dateadd(microsecond, datediff(microsecond, date_trunc(\'second\', ' ~ expression ~ '), ' ~ expression
        ~ "), timestamp 'epoch' + floor(extract(epoch from " ~ expression ~ ")) * interval '1 second')"
    ) -}}
{% endmacro %}

{#
    The epoch of every kind of timestamp is that of UTC, whatever the session's time zone.
    https://docs.snowflake.com/en/sql-reference/functions-date-time#supported-date-and-time-parts
#}
{% macro snowflake__utc_timestamp(expression) %}
    {{- return('to_timestamp_ntz(date_part(epoch_microsecond, ' ~ expression ~ '), 6)') -}}
{% endmacro %}

{# Spark's timestamp is an instant; a timestamp_ntz is read as UTC.
   https://spark.apache.org/docs/latest/sql-ref-datatypes.html #}
{% macro spark__utc_timestamp(expression) %}
    {{- return('cast(' ~ expression ~ ' as timestamp)') -}}
{% endmacro %}
