{#
    Tell the merge that will bring this build's rows into the model's own table where the stored ones are that they may
    replace: in these syncs, of which all are that it writes. Each model that is clustered by sync calls it.

    syncs: literals of sync_key, or none for all, as touched_syncs gives them
#}
{% macro search_merged_rows(syncs) %}
    {%- if execute and synctrail.is_incremental_build() -%}
        {%- do adapter.dispatch('search_merged_rows', 'synctrail')(synctrail.among('DBT_INTERNAL_DEST.sync_key', syncs)) -%}
    {%- endif -%}
{% endmacro %}

{% macro default__search_merged_rows(condition) %}
{% endmacro %}

{# Whether that is of use: a model that knows its syncs by a query of its own need not ask it elsewhere. #}
{% macro searches_merged_rows() %}
    {{- return(adapter.dispatch('searches_merged_rows', 'synctrail')()) -}}
{% endmacro %}

{% macro default__searches_merged_rows() %}
    {{- return(false) -}}
{% endmacro %}

{% macro spark__searches_merged_rows() %}
    {{- return(true) -}}
{% endmacro %}

{% macro databricks__searches_merged_rows() %}
    {{- return(false) -}}
{% endmacro %}

{#
    A merge reads the keys of the whole table, unless its condition names the values that it may find. A model's
    config is made before they are known, so it names a variable, which Spark replaces in a statement's text:
    https://spark.apache.org/docs/latest/sql-ref-syntax-aux-conf-mgmt-set.html
    One that is not set is a syntax error, so that no merge takes stored rows for absent ones.
#}
{% macro spark__search_merged_rows(condition) %}
    {%- do run_query('set ' ~ synctrail.merged_rows_variable() ~ ' = ' ~ condition) -%}
{% endmacro %}

{# SQL warehouses there let nobody set what they do not know. #}
{% macro databricks__search_merged_rows(condition) %}
{% endmacro %}

{# One for each model, as those that are built at a time share a session. #}
{% macro merged_rows_variable() %}
    {{- return('synctrail.' ~ model.name ~ '.merged_rows') -}}
{% endmacro %}
