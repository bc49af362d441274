{# A statement: deletes the rows of a table whose key, which is never null, is not among those of a query. #}
{% macro delete_all_but(relation, key, kept) %}
    {{- return(adapter.dispatch('delete_all_but', 'synctrail')(relation, key, kept)) -}}
{% endmacro %}

{% macro default__delete_all_but(relation, key, kept) %}
    delete from {{ relation }}
    where {{ key }} not in ({{ kept }})
{% endmacro %}

{# Delta's delete takes no subquery. https://docs.delta.io/latest/delta-update.html#upsert-into-a-table-using-merge #}
{% macro spark__delete_all_but(relation, key, kept) %}
    merge into {{ relation }} as rows_there
    using (
        select listed.{{ key }}
        from {{ relation }} as listed
        left join ({{ kept }}) as kept on listed.{{ key }} = kept.{{ key }}
        where kept.{{ key }} is null
    ) as rows_to_go
        on rows_there.{{ key }} = rows_to_go.{{ key }}
    when matched then delete
{% endmacro %}
