{#
    The config of a table that each build writes whole.

    cluster_by, day: those of storage_layout

    Example: {{ config(**synctrail.table_config()) }}
#}
{% macro table_config(cluster_by=none, day=none) %}
    {%- set settings = {'materialized': 'table'} -%}
    {%- if cluster_by is not none -%}
        {%- do settings.update(synctrail.storage_layout(cluster_by, day)) -%}
    {%- endif -%}
    {%- do settings.update(adapter.dispatch('table_format', 'synctrail')()) -%}
    {{- return(settings) -}}
{% endmacro %}

{% macro default__table_format() %}
    {{- return({}) -}}
{% endmacro %}

{#
    As the history tables are. A Delta table is replaced by one commit: whoever reads it, in whatever session, has the rows
    from before or those from after. One of Spark's own is dropped and made again, and other sessions go on to look for
    its old files. https://docs.getdbt.com/reference/resource-configs/spark-configs
    In a session of Iceberg's, a table of Spark's own cannot be written twice: its files outlive it when it is dropped,
    and Spark makes no table where files are. https://iceberg.apache.org/docs/1.11.0/spark-ddl/#drop-table
#}
{% macro spark__table_format() %}
    {%- set file_format = var('synctrail_spark_file_format') -%}
    {{- return({} if file_format == 'parquet' else {'file_format': file_format}) -}}
{% endmacro %}
