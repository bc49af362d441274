{# An aggregate: the continuous percentile of a number, nulls aside; percent is between 0 and 1, 0.5 the median. #}
{% macro percentile(expression, percent) %}
    {{- return(adapter.dispatch('percentile', 'synctrail')(expression, percent)) -}}
{% endmacro %}

{% macro default__percentile(expression, percent) %}
    {{- return('percentile_cont(' ~ percent ~ ') within group (order by ' ~ expression ~ ')') -}}
{% endmacro %}

{% macro duckdb__percentile(expression, percent) %}
    {{- return('quantile_cont(' ~ expression ~ ', ' ~ percent ~ ')') -}}
{% endmacro %}

{#
    percentile_cont is a window function alone, and approx_quantiles is not exact.
    https://cloud.google.com/bigquery/docs/reference/standard-sql/navigation_functions#percentile_cont
#}
{% macro bigquery__percentile(expression, percent) %}
    {%- set place = percent ~ ' * (count(' ~ expression ~ ') - 1)' -%}
    {%- set value_at = 'array_agg(' ~ expression ~ ' ignore nulls order by ' ~ expression ~ ')[safe_offset(cast(' -%}
    {%- set lower = value_at ~ 'floor(' ~ place ~ ') as int64))]' -%}
    {%- set upper = value_at ~ 'ceil(' ~ place ~ ') as int64))]' -%}
    {{- return(
        '(' ~ lower ~ ' + (' ~ upper ~ ' - ' ~ lower ~ ') * (' ~ place ~ ' - floor(' ~ place ~ ')))'
    ) -}}
{% endmacro %}

{% macro spark__percentile(expression, percent) %}
    {{- return('percentile(' ~ expression ~ ', ' ~ percent ~ ')') -}}
{% endmacro %}
