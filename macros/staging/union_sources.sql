{#
    The rows of one staging shape over every source that is switched on.

    shape: attempts, runs, source_objects, destinations or destination_objects
    columns: what to select; each staging model of the shape has them
#}
{% macro union_sources(shape, columns) %}
    {%- for source_name in synctrail.enabled_sources() %}
    select
        {{ columns | join(',\n        ') }}
    from {{ ref('stg_' ~ source_name ~ '__' ~ shape) }}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
{% endmacro %}

{# The staging models of one shape, of every source that is switched on. #}
{% macro staging_relations(shape) %}
    {%- set relations = [] -%}
    {%- for source_name in synctrail.enabled_sources() -%}
        {%- do relations.append(ref('stg_' ~ source_name ~ '__' ~ shape)) -%}
    {%- endfor -%}
    {{- return(relations) -}}
{% endmacro %}

{# The sources that are switched on; an unknown name fails by name. #}
{% macro enabled_sources() %}
    {%- set supported = ['census_lake'] -%}
    {%- for source_name in var('synctrail_sources') if source_name not in supported -%}
        {{- exceptions.raise_compiler_error(
            "The variable synctrail_sources names '" ~ source_name ~ "'. Allowed: " ~ supported | join(', ') ~ '.'
        ) -}}
    {%- endfor -%}
    {{- return(var('synctrail_sources')) -}}
{% endmacro %}
