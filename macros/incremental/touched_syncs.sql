{#
    The syncs that this build has to do with, as a list of literals of sync_key: those of rows that upstream tables
    wrote since this model's own table was last built. Fetched first and inlined, so that warehouses prune by them; and
    none, which is no restriction, where they are too many for that.

    upstream: pairs of a relation, or a query in parentheses, and a condition that its new rows meet
#}
{% macro touched_syncs(upstream) %}
    {%- set syncs = [] -%}
    {%- if execute -%}
        {%- set query -%}
            {%- for relation, is_new in upstream %}
            select sync_key from {{ relation }} as upstream where {{ is_new }}
            {%- if not loop.last %} union all {% endif %}
            {%- endfor %}
        {%- endset -%}
        {%- for sync_key in run_query('select distinct sync_key from (' ~ query ~ ') as touched').columns[0].values() -%}
            {%- do syncs.append(dbt.string_literal(sync_key)) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(none if syncs | length > 200 else syncs) -}}
{% endmacro %}

{# A condition: rows of these syncs, as touched_syncs gives them. #}
{% macro of_touched_syncs(relation, syncs) %}
    {{- return('1 = 1' if syncs is none else relation ~ ".sync_key in (" ~ (syncs or ["''"]) | join(', ') ~ ')') -}}
{% endmacro %}
