{#
    The end of a query of which a full build makes a history table: in which order its rows are to lie, for a warehouse
    that prunes by it and takes no such thing in a table's config.

    column: the column that builds find the rows that they have to do with by
#}
{% macro storage_order(column) %}
    {{- return(adapter.dispatch('storage_order', 'synctrail')(column)) -}}
{% endmacro %}

{% macro default__storage_order(column) %}
    {{- return('') -}}
{% endmacro %}

{# https://duckdb.org/docs/stable/guides/performance/indexing#zonemaps #}
{% macro duckdb__storage_order(column) %}
    {{- return('order by ' ~ column) -}}
{% endmacro %}
