{# Seconds from one timestamp to another, with fractions; null if either is null. #}
{% macro seconds_between(start, finish) %}
    {{- return(adapter.dispatch('seconds_between', 'synctrail')(start, finish)) -}}
{% endmacro %}

{% macro default__seconds_between(start, finish) %}
    {{- synctrail.unsupported_adapter('seconds_between') -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/timestamp_functions#timestamp_diff #}
{% macro bigquery__seconds_between(start, finish) %}
    {{- return('timestamp_diff(' ~ finish ~ ', ' ~ start ~ ', microsecond) / 1000000') -}}
{% endmacro %}

{% macro duckdb__seconds_between(start, finish) %}
    {{- return('(epoch_us(' ~ finish ~ ') - epoch_us(' ~ start ~ ')) / cast(1000000 as double)') -}}
{% endmacro %}

{% macro postgres__seconds_between(start, finish) %}
    {{- return('cast(extract(epoch from (' ~ finish ~ ') - (' ~ start ~ ')) as double precision)') -}}
{% endmacro %}

{# https://docs.aws.amazon.com/redshift/latest/dg/r_DATEDIFF_function.html #}
{% macro redshift__seconds_between(start, finish) %}
    {{- return('datediff(microsecond, ' ~ start ~ ', ' ~ finish ~ ') / cast(1000000 as double precision)') -}}
{% endmacro %}

{# https://docs.snowflake.com/en/sql-reference/functions/datediff #}
{% macro snowflake__seconds_between(start, finish) %}
    {{- return('datediff(microsecond, ' ~ start ~ ', ' ~ finish ~ ') / cast(1000000 as double)') -}}
{% endmacro %}

{% macro spark__seconds_between(start, finish) %}
    {{- return('(unix_micros(' ~ finish ~ ') - unix_micros(' ~ start ~ ')) / cast(1000000 as double)') -}}
{% endmacro %}
