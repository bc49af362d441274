{#
    What follows `select` where few bytes of rows mean much work, for an engine that would leave all of them to one task.
#}
{% macro spread_hint() %}
    {{- return(adapter.dispatch('spread_hint', 'synctrail')()) -}}
{% endmacro %}

{% macro default__spread_hint() %}
    {{- return('') -}}
{% endmacro %}

{# A number is kept; without one, Spark puts small partitions together. https://spark.apache.org/docs/latest/sql-performance-tuning.html#coalescing-post-shuffle-partitions #}
{% macro spark__spread_hint() %}
    {{- return('/*+ repartition(16) */') -}}
{% endmacro %}
