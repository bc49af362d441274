{#
    A query: the rows of a relation whose rows have no id of their own, with an id, `log_id`: a hash of their parts, in
    which null is an empty text, so that a column that the vendor adds later changes no id. Where rows are alike in all
    of them, the number of the row among these counts too; and nothing else, so that ids stay when rows are pruned.

    parts: text columns
    within: columns in which alike rows are counted apart: a row that lies in two schemas is one
#}
{% macro with_row_ids(relation, parts, within) %}
    {%- set texts = [] -%}
    {%- for part in parts -%}
        {%- do texts.append("coalesce(" ~ part ~ ", '')") -%}
    {%- endfor %}
    select
        *,
        {{ synctrail.hash_key(['parts_hash', 'cast(place as ' ~ dbt.type_string() ~ ')']) }} as log_id
    from (
        select
            *,
            row_number() over (
                partition by {{ (['parts_hash'] + within) | join(', ') }} order by parts_hash
            ) as place
        from (
            select
                *,
                {{ synctrail.hash_key(texts) }} as parts_hash
            from {{ relation }}
        ) as hashed
    ) as placed
{% endmacro %}
