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
    In a session of Iceberg's, a table of Spark's own cannot be written twice: its files outlive it when it is dropped,
    and Spark makes no table where files are. https://iceberg.apache.org/docs/1.11.0/spark-ddl/#drop-table
#}
{% macro spark__table_format() %}
    {%- set file_format = var('synctrail_spark_file_format') -%}
    {{- return({'file_format': file_format} if file_format == 'iceberg' else {}) -}}
{% endmacro %}
