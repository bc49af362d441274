{#
    A text key over several text columns: md5 of the parts, each with its length before it, so that no two lists of
    parts share a key ('a-b', 'c' and 'a', 'b-c' differ). Null if any part is null.
#}
{% macro hash_key(columns) %}
    {%- set parts = [] -%}
    {%- for column in columns -%}
        {%- do parts.append("cast(" ~ dbt.length(column) ~ " as " ~ dbt.type_string() ~ ")") -%}
        {%- do parts.append("':'") -%}
        {%- do parts.append(column) -%}
    {%- endfor -%}
    {{- return(dbt.hash(dbt.concat(parts))) -}}
{% endmacro %}

{# The key of a record; null where the attempt has no identifier (null or an empty text). #}
{% macro record_key() %}
    {{- return(synctrail.hash_key(['source_system', 'sync_id', "nullif(record_identifier, '')"])) -}}
{% endmacro %}

{% macro run_key() %}
    {{- return(synctrail.hash_key(['source_system', 'sync_id', 'sync_run_id'])) -}}
{% endmacro %}

{% macro sync_key() %}
    {{- return(synctrail.hash_key(['source_system', 'sync_id'])) -}}
{% endmacro %}
