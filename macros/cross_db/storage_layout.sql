{#
    The config of where the rows of a table lie, which warehouses prune by. Nothing where a warehouse has no such thing,
    or where it is the user's to ask for.

    cluster_by: a column
    day: a date column that is never null
#}
{% macro storage_layout(cluster_by, day=none) %}
    {{- return(adapter.dispatch('storage_layout', 'synctrail')(cluster_by, day)) -}}
{% endmacro %}

{% macro default__storage_layout(cluster_by, day) %}
    {{- return({}) -}}
{% endmacro %}

{#
    https://cloud.google.com/bigquery/docs/partitioned-tables#date_timestamp_partitioned_tables
    https://cloud.google.com/bigquery/docs/clustered-tables
#}
{% macro bigquery__storage_layout(cluster_by, day) %}
    {%- set layout = {'cluster_by': [cluster_by]} -%}
    {%- if day is not none -%}
        {%- do layout.update({'partition_by': {'field': day, 'data_type': 'date', 'granularity': 'day'}}) -%}
    {%- endif -%}
    {{- return(layout) -}}
{% endmacro %}

{# https://docs.databricks.com/en/delta/clustering.html #}
{% macro databricks__storage_layout(cluster_by, day) %}
    {{- return({'liquid_clustered_by': [cluster_by] if day is none else [cluster_by, day]}) -}}
{% endmacro %}
