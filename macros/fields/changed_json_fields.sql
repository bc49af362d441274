{#
    A query: the top-level fields in which two JSON payloads differ (contract R11).

    relation, key: where the payloads are, and the column that tells a pair from the others
    old_payload, new_payload: columns with the payloads, as text; JSON objects all (json_is_object)
    Result: key, field_name, change_type (set, cleared, modified), old_json, new_json (as json_differences gives
    them, a JSON null as an SQL null), old_value, new_value (strings without quotes, all else as JSON text)
#}
{% macro changed_json_fields(relation, key, old_payload, new_payload) %}
    select
        {{ key }},
        field_name,
        case
            when old_json is null then 'set'
            when new_json is null then 'cleared'
            else 'modified'
        end as change_type,
        old_json,
        new_json,
        {{ synctrail.json_text('old_json') }} as old_value,
        {{ synctrail.json_text('new_json') }} as new_value
    from (
        select
            {{ key }},
            field_name,
            nullif(left_json, 'null') as old_json,
            nullif(right_json, 'null') as new_json
        from (
            {{ synctrail.json_differences(relation, key, old_payload, new_payload) }}
        ) as differences
    ) as values_or_nulls
    where {{ synctrail.is_distinct(
        synctrail.json_comparable('old_json'), synctrail.json_comparable('new_json')
    ) }}
{% endmacro %}
