{#
    The _load_ids in staging that this model's own table has not seen, as a list of literals for an IN clause. A load
    becomes visible whole, so its id tells all of it; and ids are compared as a set, so that loads may arrive in any
    order.
#}
{% macro new_loads(staging_relations) %}
    {%- set query -%}
        select staged._load_id
        from (
            {%- for relation in staging_relations %}
            select distinct _load_id from {{ relation }}
            {%- if not loop.last %} union all {% endif %}
            {%- endfor %}
        ) as staged
        left join (select distinct _load_id from {{ this }}) as seen on staged._load_id = seen._load_id
        where seen._load_id is null
    {%- endset -%}
    {{- return(synctrail.literals(query)) -}}
{% endmacro %}
