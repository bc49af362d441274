{#
    The config of a history table: replaces rows by unique_key. One place says how each warehouse does it.

    cluster_by: the column that builds find the rows that they have to do with by

    Example: {{ config(**synctrail.incremental_config('log_key')) }}
#}
{% macro incremental_config(unique_key, keeps_source_rows=false, cluster_by='sync_key') %}
    {%- set settings = {
        'materialized': 'incremental',
        'unique_key': unique_key,
        'on_schema_change': 'append_new_columns'
    } -%}
    {%- if keeps_source_rows and not var('synctrail_allow_full_refresh') -%}
        {%- do settings.update({'full_refresh': false}) -%}
    {%- endif -%}
    {%- do settings.update(adapter.dispatch('incremental_config', 'synctrail')(unique_key, cluster_by)) -%}
    {%- do settings.update(synctrail.storage_layout(cluster_by)) -%}
    {{- return(settings) -}}
{% endmacro %}

{% macro default__incremental_config(unique_key, cluster_by) %}
    {{- synctrail.unsupported_adapter('incremental_config') -}}
{% endmacro %}

{#
    A key is of one sync. Told so, DuckDB looks for the rows to replace in the syncs of the new ones alone:
    https://duckdb.org/2024/09/09/announcing-duckdb-110#dynamic-filter-pushdown-from-joins
#}
{% macro duckdb__incremental_config(unique_key, cluster_by) %}
    {{- return({
        'incremental_strategy': 'delete+insert',
        'unique_key': ['sync_key', unique_key] if cluster_by == 'sync_key' else unique_key
    }) -}}
{% endmacro %}

{% macro postgres__incremental_config(unique_key, cluster_by) %}
    {{- return({'incremental_strategy': 'delete+insert'}) -}}
{% endmacro %}

{#
    One statement, which reads the model as a view: nothing is written but the rows that change. Keys are never null and
    once in a build, which a merge needs. https://docs.snowflake.com/en/sql-reference/sql/merge
#}
{% macro snowflake__incremental_config(unique_key, cluster_by) %}
    {{- return({'incremental_strategy': 'merge'}) -}}
{% endmacro %}

{% macro redshift__incremental_config(unique_key, cluster_by) %}
    {{- return({'incremental_strategy': 'delete+insert'}) -}}
{% endmacro %}

{% macro bigquery__incremental_config(unique_key, cluster_by) %}
    {{- return({'incremental_strategy': 'merge'}) -}}
{% endmacro %}

{# Plain Parquet knows neither merge nor delete: there each build writes the whole table. #}
{% macro spark__incremental_config(unique_key, cluster_by) %}
    {%- set settings = synctrail.databricks__incremental_config(unique_key, cluster_by) -%}
    {%- if settings.incremental_strategy == 'merge' and cluster_by == 'sync_key' -%}
        {%- do settings.update({'incremental_predicates': ['${' ~ synctrail.merged_rows_variable() ~ '}']}) -%}
    {%- endif -%}
    {{- return(settings) -}}
{% endmacro %}

{% macro databricks__incremental_config(unique_key, cluster_by) %}
    {%- set file_format = var('synctrail_spark_file_format') -%}
    {{- return({
        'file_format': file_format,
        'incremental_strategy': 'insert_overwrite' if file_format == 'parquet' else 'merge'
    }) -}}
{% endmacro %}

{# True where this build adds to what the table holds. #}
{% macro is_incremental_build() %}
    {%- set replaces_all = target.type == 'spark' and var('synctrail_spark_file_format') == 'parquet' -%}
    {{- return(is_incremental() and not replaces_all) -}}
{% endmacro %}
