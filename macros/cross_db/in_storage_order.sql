{#
    The query of which a full build makes a history table, so that its rows lie in an order by which the warehouse
    prunes, where it takes no such thing in a table's config. A build that adds to the table writes the query as it is:
    what it adds is of few syncs.

    query: a text, and no block of a call: in a unit test, dbt 1.10 loses what a macro returns to that
    column: the column that builds find the rows that they have to do with by; none for any order
#}
{% macro in_storage_order(query, column) %}
    {%- if not column or synctrail.is_incremental_build() -%}
        {{- return(query) -}}
    {%- endif -%}
    {{- return(adapter.dispatch('in_storage_order', 'synctrail')(query, column)) -}}
{% endmacro %}

{% macro default__in_storage_order(query, column) %}
    {{- return(query) -}}
{% endmacro %}

{# https://duckdb.org/docs/stable/guides/performance/indexing#zonemaps #}
{% macro duckdb__in_storage_order(query, column) %}
    {{- return(query ~ '\norder by ' ~ column) -}}
{% endmacro %}

{#
    Files of few values each, and none too large where one value has many rows: queries skip the others, and a merge
    writes no more than the files of what it changes. https://spark.apache.org/docs/latest/sql-ref-syntax-qry-select-hints.html

    Plain Parquet is written whole in each build, which would pay for it each time.
#}
{% macro spark__in_storage_order(query, column) %}
    {%- if var('synctrail_spark_file_format') == 'parquet' -%}
        {{- return(query) -}}
    {%- endif -%}
    {{- return(
        'select /*+ rebalance(' ~ column ~ ') */ *\nfrom (\n' ~ query ~ '\n) as rows_to_store\nsort by ' ~ column
    ) -}}
{% endmacro %}

{# There a table is clustered by its config. #}
{% macro databricks__in_storage_order(query, column) %}
    {{- return(query) -}}
{% endmacro %}
