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

{% macro spark__percentile(expression, percent) %}
    {{- return('percentile(' ~ expression ~ ', ' ~ percent ~ ')') -}}
{% endmacro %}
