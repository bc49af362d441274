{#
    The rows of one staging shape over sources; no rows where none of them has the shape.

    shape: attempts, runs, source_objects, destinations or destination_objects
    columns: what to select; each staging model of the shape has them
    sources: which; else all that are switched on
#}
{% macro union_sources(shape, columns, sources=none) %}
    {%- set relations = synctrail.staging_relations(shape, sources) -%}
    {%- for relation in relations %}
    select
        {{ columns | join(',\n        ') }}
    from {{ relation }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
    {%- if not relations %}
    select
        {%- for column in columns %}
        {{ synctrail.typed_nulls([column], synctrail.staging_kind(column)) }}{% if not loop.last %},{% endif %}
        {%- endfor %}
    from (select 1 as nothing) as nothing
    where 1 = 0
    {%- endif %}
{% endmacro %}

{# The staging models of one shape, of these sources or of every one that is switched on. #}
{% macro staging_relations(shape, sources=none) %}
    {%- set relations = [] -%}
    {%- for source_name in (synctrail.enabled_sources() if sources is none else sources) -%}
        {%- if shape in synctrail.source_shapes()[source_name] -%}
            {%- do relations.append(ref('stg_' ~ source_name ~ '__' ~ shape)) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(relations) -}}
{% endmacro %}

{# Columns that a staging model's source does not have: `cast(null as string) as org_id, …`. #}
{% macro typed_nulls(columns, kind='text') %}
    {%- set nulls = [] -%}
    {%- for column in columns -%}
        {%- do nulls.append('cast(null as ' ~ synctrail.kind_type(kind) ~ ') as ' ~ column) -%}
    {%- endfor -%}
    {{- return(nulls | join(',\n    ')) -}}
{% endmacro %}

{# The kind of a column of the staging shapes, which its name tells. #}
{% macro staging_kind(column) %}
    {%- if column.endswith('_at') -%}
        {{- return('timestamp') -}}
    {%- elif column.startswith('has_') -%}
        {{- return('boolean') -}}
    {%- elif column.startswith('given_num_') -%}
        {{- return('number') -}}
    {%- endif -%}
    {{- return('text') -}}
{% endmacro %}

{# What a vendor's own table of runs may tell of a run, as staging names it. #}
{% macro given_run_columns() %}
    {{- return(
        ['given_primary_key', 'given_destination', 'given_model_name', 'given_status', 'given_error', 'given_finished_at']
        + synctrail.given_run_counts()
    ) -}}
{% endmacro %}

{% macro given_run_counts() %}
    {%- set columns = [] -%}
    {%- for outcome in ['planned', 'attempted', 'succeeded', 'failed'] -%}
        {%- for noun in ['add', 'change', 'remove'] -%}
            {%- do columns.append('given_num_' ~ outcome ~ '_' ~ noun) -%}
        {%- endfor -%}
    {%- endfor -%}
    {{- return(columns) -}}
{% endmacro %}

{# The columns of a vendor's own table of runs, where the source has none. #}
{% macro no_given_run_columns() %}
    {%- set nulls = [] -%}
    {%- for column in synctrail.given_run_columns() -%}
        {%- do nulls.append(synctrail.typed_nulls([column], synctrail.staging_kind(column))) -%}
    {%- endfor -%}
    {{- return(nulls | join(',\n    ')) -}}
{% endmacro %}
