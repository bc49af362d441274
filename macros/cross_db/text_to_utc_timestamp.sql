{#
    ISO 8601 text as a UTC timestamp, null where it is none. A time without an offset is UTC, a date is its
    midnight.
#}
{% macro text_to_utc_timestamp(text) %}
    {%- set is_iso = synctrail.regexp_like(
        text,
        '^[0-9]{4}-[0-9]{2}-[0-9]{2}'
        ~ '([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?(Z| ?UTC|[+-][0-9]{2}(:?[0-9]{2})?)?)?$'
    ) -%}
    {%- set has_offset = synctrail.regexp_like(text, '[0-9:.](Z| ?UTC|[+-][0-9]{2}(:?[0-9]{2})?)$') -%}
    {%- set with_offset = (
        "case when not " ~ is_iso ~ " then null when length(" ~ text ~ ") = 10 then " ~ text
        ~ " || ' 00:00:00+00:00' when " ~ has_offset ~ " then " ~ text ~ " else " ~ text ~ " || '+00:00' end"
    ) -%}
    {{- return(adapter.dispatch('text_to_utc_timestamp', 'synctrail')(with_offset)) -}}
{% endmacro %}

{% macro default__text_to_utc_timestamp(text_with_offset) %}
    {{- return(synctrail.unsupported_adapter('text_to_utc_timestamp')) -}}
{% endmacro %}

{#
    BigQuery wants seconds, at most six digits of their fraction, and a colon in an offset.
    https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#timestamp_type
#}
{% macro bigquery__text_to_utc_timestamp(text_with_offset) %}
    {%- set ns = namespace(text=text_with_offset) -%}
    {%- for pattern, replacement in [
        (' ?UTC$', 'Z'),
        ('([T ][0-9]{2}:[0-9]{2})(Z|[+-])', '\\1:00\\2'),
        ('([.][0-9]{6})[0-9]+', '\\1'),
        ('([+-][0-9]{2})([0-9]{2})$', '\\1:\\2')
    ] -%}
        {%- set ns.text = synctrail.regexp_replace(ns.text, pattern, replacement) -%}
    {%- endfor -%}
    {{- return('safe_cast(' ~ ns.text ~ ' as timestamp)') -}}
{% endmacro %}

{# Read as a plain timestamp, the offset would be dropped. #}
{% macro duckdb__text_to_utc_timestamp(text_with_offset) %}
    {{- return(synctrail.utc_timestamp('try_cast(' ~ text_with_offset ~ ' as timestamptz)')) -}}
{% endmacro %}

{% macro postgres__text_to_utc_timestamp(text_with_offset) %}
    {{- return("(" ~ synctrail.try_cast(text_with_offset, 'timestamptz') ~ " at time zone 'UTC')") -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/r_Datetime_types.html #}
{% macro redshift__text_to_utc_timestamp(text_with_offset) %}
    {%- set text = synctrail.spelled_out_timestamp(text_with_offset) -%}
    {{- return("(" ~ synctrail.try_cast(text, 'timestamptz') ~ " at time zone 'UTC')") -}}
{% endmacro %}

{#
    With a format of its own, since a session may set another one.
    https://docs.snowflake.com/en/sql-reference/date-time-input-output
#}
{% macro snowflake__text_to_utc_timestamp(text_with_offset) %}
    {{- return(synctrail.utc_timestamp(
        'try_to_timestamp_tz(' ~ synctrail.spelled_out_timestamp(text_with_offset)
        ~ ", 'YYYY-MM-DD HH24:MI:SS.FF9TZH:TZM')"
    )) -}}
{% endmacro %}

{# The one spelling `2025-12-31 18:00:00.0+01:00`, for warehouses that read few others. #}
{% macro spelled_out_timestamp(text_with_offset) %}
    {%- set ns = namespace(text=text_with_offset) -%}
    {%- for pattern, replacement in [
        ('(Z| ?UTC)$', '+00:00'),
        ('([+-][0-9]{2})$', '\\1:00'),
        ('([+-][0-9]{2})([0-9]{2})$', '\\1:\\2'),
        ('T', ' '),
        ('( [0-9]{2}:[0-9]{2})([+-])', '\\1:00\\2'),
        ('(:[0-9]{2}:[0-9]{2})([+-])', '\\1.0\\2')
    ] -%}
        {%- set ns.text = synctrail.regexp_replace(ns.text, pattern, replacement) -%}
    {%- endfor -%}
    {{- return(ns.text) -}}
{% endmacro %}

{# Spark reads no offset after a time without seconds. https://spark.apache.org/docs/latest/sql-ref-datatypes.html #}
{% macro spark__text_to_utc_timestamp(text_with_offset) %}
    {%- set with_seconds = synctrail.regexp_replace(
        text_with_offset, '([T ][0-9]{2}:[0-9]{2})(Z| ?UTC|[+-])', '\\1:00\\2'
    ) -%}
    {{- return('try_cast(' ~ with_seconds ~ ' as timestamp)') -}}
{% endmacro %}
