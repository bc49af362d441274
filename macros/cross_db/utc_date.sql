{# The UTC date of a timestamp of the package's own (see utc_timestamp), whatever the session's time zone. #}
{% macro utc_date(timestamp) %}
    {{- return(adapter.dispatch('utc_date', 'synctrail')(timestamp)) -}}
{% endmacro %}

{% macro default__utc_date(timestamp) %}
    {{- return('cast(' ~ timestamp ~ ' as date)') -}}
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/date_functions#date #}
{% macro bigquery__utc_date(timestamp) %}
    {{- return('date(' ~ timestamp ~ ", 'UTC')") -}}
{% endmacro %}

{# Spark's own to_date takes the date in the session's time zone. #}
{% macro spark__utc_date(timestamp) %}
    {{- return("date_add(date'1970-01-01', cast(floor(unix_seconds(" ~ timestamp ~ ') / 86400) as int))') -}}
{% endmacro %}
