{# The timestamp so many seconds (with fractions) after another; null if either is null. #}
{% macro seconds_after(timestamp, seconds) %}
    {{- return(adapter.dispatch('seconds_after', 'synctrail')(timestamp, seconds)) -}}
{% endmacro %}

{% macro default__seconds_after(timestamp, seconds) %}
    {{- synctrail.unsupported_adapter('seconds_after') -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/timestamp_functions#timestamp_add #}
{% macro bigquery__seconds_after(timestamp, seconds) %}
    {{- return(
        'timestamp_add(' ~ timestamp ~ ', interval cast(round((' ~ seconds ~ ') * 1000000) as int64) microsecond)'
    ) -}}
{% endmacro %}

{% macro duckdb__seconds_after(timestamp, seconds) %}
    {{- return('make_timestamp(epoch_us(' ~ timestamp ~ ') + cast(round((' ~ seconds ~ ') * 1000000) as bigint))') -}}
{% endmacro %}

{% macro postgres__seconds_after(timestamp, seconds) %}
    {{- return('(' ~ timestamp ~ ' + make_interval(secs => cast(' ~ seconds ~ ' as double precision)))') -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/r_interval_literals.html #}
{% macro redshift__seconds_after(timestamp, seconds) %}
    {{- return('(' ~ timestamp ~ ' + cast(' ~ seconds ~ " as double precision) * interval '1 second')") -}}
{% endmacro %}

{# https://docs.snowflake.com/en/sql-reference/functions/dateadd, which takes whole numbers #}
{% macro snowflake__seconds_after(timestamp, seconds) %}
    {{- return('dateadd(microsecond, cast(round((' ~ seconds ~ ') * 1000000) as bigint), ' ~ timestamp ~ ')') -}}
{% endmacro %}

{% macro spark__seconds_after(timestamp, seconds) %}
    {{- return('timestamp_micros(unix_micros(' ~ timestamp ~ ') + cast(round((' ~ seconds ~ ') * 1000000) as bigint))') -}}
{% endmacro %}
