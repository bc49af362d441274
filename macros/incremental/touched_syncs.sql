{#
    The syncs that this build has to do with, as a list of literals of sync_key: those of rows that upstream tables
    wrote since this model's own table was last built; none where they are too many to list.

    upstream: pairs of a relation, or a query in parentheses, and a condition that its new rows meet
#}
{% macro touched_syncs(upstream) %}
    {%- set query -%}
        {%- for relation, is_new in upstream %}
        select sync_key from {{ relation }} as upstream where {{ is_new }}
        {%- if not loop.last %} union all {% endif %}
        {%- endfor %}
    {%- endset -%}
    {{- return(synctrail.literals(query, at_most=200)) -}}
{% endmacro %}

{# A condition: rows of these syncs, as touched_syncs gives them. #}
{% macro of_touched_syncs(relation, syncs) %}
    {{- return(synctrail.among(relation ~ '.sync_key', syncs)) -}}
{% endmacro %}
