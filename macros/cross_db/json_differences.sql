{#
    A query: the top-level keys in which two JSON objects may differ, compared before they are expanded, so that
    equal values never become rows.

    relation, key: where the objects are, and the column that tells a pair from the others
    left, right: columns with the objects, as text; whatever json_is_object does not hold for must be left out before
    Result: key, field_name, left_json, right_json: compact JSON text, objects with their keys sorted, strings
    without needless escapes; an SQL null where the object has no such key. Of a key that occurs twice, the last
    one counts. Numbers of one value may still be written in two ways (see json_comparable).
#}
{% macro json_differences(relation, key, left, right) %}
    {{- return(adapter.dispatch('json_differences', 'synctrail')(relation, key, left, right)) -}}
{% endmacro %}

{% macro default__json_differences(relation, key, left, right) %}
    {{- return(synctrail.unsupported_adapter('json_differences')) -}}
{% endmacro %}

{#
    A JSON value keeps the first of equal keys, and promises no order of them: bigquery_json_text sorts them.
    json_keys writes a key with a point or an escape in it as a JSON string.
    https://cloud.google.com/bigquery/docs/reference/standard-sql/data-types#json_type
    https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#json_keys
#}
{% macro bigquery__json_differences(relation, key, left, right) %}
    with objects as (

        select
            {{ key }},
            {{ synctrail.bigquery_json_object(left) }} as left_object,
            {{ synctrail.bigquery_json_object(right) }} as right_object
        from {{ relation }}

    ),

    members as (

        select
            objects.{{ key }},
            field_name,
            objects.left_object[field_name] as left_member,
            objects.right_object[field_name] as right_member
        from objects
        cross join unnest(array(
            select distinct {{ synctrail.bigquery_json_key('path') }}
            from unnest(array_concat(json_keys(objects.left_object, 1), json_keys(objects.right_object, 1))) as path
        )) as field_name

    ),

    differences as (

        select * from members
        where to_json_string(left_member) <> to_json_string(right_member)
            or (left_member is null) <> (right_member is null)

    )

    select
        {{ key }},
        field_name,
        {%- for side in ['left', 'right'] %}
        {#- The integers that bigquery_json_object has made strings. #}
        {{ synctrail.regexp_replace(
            synctrail.bigquery_json_text(side ~ '_member', 4), '"\\\\u0001(-?[0-9]+)"', '\\1'
        ) }} as {{ side }}_json
        {%- if not loop.last %},{% endif %}
        {%- endfor %}
    from differences
{% endmacro %}

{#
    A JSON object of a text. An integer that fits no 64 bits would be rounded, so it becomes a string that begins with
    \u0001. The pattern takes strings and other long numbers first, and leaves a chr(1) and a quote behind each.
    https://cloud.google.com/bigquery/docs/reference/standard-sql/json_functions#parse_json
#}
{% macro bigquery_json_object(text) %}
    {%- set pattern = synctrail.regexp_literal('("(?:[^"\\\\]|\\\\.)*"|-?[0-9]+[.eE][-+.0-9eE]*)|(-?[0-9]{19,})') -%}
    {%- set with_marks = 'regexp_replace(' ~ text ~ ', ' ~ pattern ~ ", concat('\\\\1', chr(1), '\\\\2\"'))" -%}
    {%- set with_strings = 'replace(replace(' ~ with_marks ~ ", concat(chr(1), '\"'), ''), chr(1), '\"\\\\u0001')" -%}
    {{- return(
        'parse_json(case when ' ~ synctrail.regexp_like(text, '[0-9]{19}') ~ ' then ' ~ with_strings ~ ' else ' ~ text
        ~ " end, wide_number_mode => 'round')"
    ) -}}
{% endmacro %}

{# The key that one of the paths of json_keys is. #}
{% macro bigquery_json_key(path) %}
    {{- return('case when left(' ~ path ~ ", 1) = '\"' then json_value(" ~ path ~ ", '$') else " ~ path ~ ' end') -}}
{% endmacro %}

{# A JSON value as compact text, the keys of objects sorted down to so many levels; null where there is no value. #}
{% macro bigquery_json_text(json, levels) %}
    {%- set text = 'case when ' ~ json ~ ' is not null then to_json_string(' ~ json ~ ') end' -%}
    {%- if levels == 0 -%}
        {{- return(text) -}}
    {%- endif -%}
    {%- set key = 'key' ~ levels -%}
    {%- set item = 'item' ~ levels -%}
    {%- set member = "concat(to_json_string(" ~ key ~ "), ':', "
        ~ synctrail.bigquery_json_text(json ~ '[' ~ key ~ ']', levels - 1) ~ ')' -%}
    {{- return(
        'case json_type(' ~ json ~ ") when 'object' then (select concat('{', coalesce(string_agg(" ~ member ~ ", ',' order by "
        ~ key ~ "), ''), '}') from (select " ~ synctrail.bigquery_json_key('path') ~ ' as ' ~ key ~ ' from unnest(json_keys('
        ~ json ~ ", 1)) as path) as keys) when 'array' then (select concat('[', coalesce(string_agg("
        ~ synctrail.bigquery_json_text(item, levels - 1) ~ ", ',' order by " ~ item ~ "_offset), ''), ']') from unnest(json_query_array("
        ~ json ~ ")) as " ~ item ~ ' with offset as ' ~ item ~ '_offset) else ' ~ text ~ ' end'
    ) -}}
{% endmacro %}

{#
    json_keys and the wildcard path give lists of one order.
    https://duckdb.org/docs/stable/data/json/json_functions
#}
{% macro duckdb__json_differences(relation, key, left, right) %}
    with objects as (

        {# Read as a variant, an object keeps the last of equal keys. -#}
        select
            {{ key }},
            {%- for side, object in [('left', left), ('right', right)] %}
            case
                when len(json_keys({{ object }})) = len(list_distinct(json_keys({{ object }})))
                    then {{ object }}
                else cast(cast(cast({{ object }} as json) as variant) as json)
            end as {{ side }}_object
            {%- if not loop.last %},{% endif %}
            {%- endfor %}
        from {{ relation }}

    ),

    members as (

        select
            {{ key }},
            {%- for side in ['left', 'right'] %}
            json_keys({{ side }}_object) as {{ side }}_names,
            cast(json_extract({{ side }}_object, '$.*') as varchar []) as {{ side }}_values
            {%- if not loop.last %},{% endif %}
            {%- endfor %}
        from objects

    ),

    differences as (

        select
            {{ key }},
            left_names,
            left_values,
            right_names,
            right_values,
            unnest(list_filter(
                list_distinct(list_concat(left_names, right_names)),
                lambda name: left_values[list_position(left_names, name)]
                    is distinct from right_values[list_position(right_names, name)]
            )) as field_name
        from members

    ),

    fields as (

        select
            {{ key }},
            field_name,
            {%- for side in ['left', 'right'] %}
            {{ side }}_values[list_position({{ side }}_names, field_name)] as {{ side }}_json
            {%- if not loop.last %},{% endif %}
            {%- endfor %}
        from differences

    )

    select
        {{ key }},
        field_name,
        {%- for side in ['left', 'right'] %}
        {#- Only a nested object has keys to sort. #}
        case when contains({{ side }}_json, '{') then json_normalize({{ side }}_json) else {{ side }}_json end
            as {{ side }}_json
        {%- if not loop.last %},{% endif %}
        {%- endfor %}
    from fields
{% endmacro %}

{#
    jsonb keeps the last of equal keys, and sorts its keys by length first: postgres_json_text sorts them as the other
    engines do.
    https://www.postgresql.org/docs/current/datatype-json.html
#}
{% macro postgres__json_differences(relation, key, left, right) %}
    with members as (

        {%- for side, payload in [('left', left), ('right', right)] %}
        select
            pairs.{{ key }},
            '{{ side }}' as side,
            member.key as field_name,
            member.value as field_json
        from {{ relation }} as pairs
        cross join lateral jsonb_each(cast(pairs.{{ payload }} as jsonb)) as member
        {%- if not loop.last %}
        union all
        {%- endif %}
        {%- endfor %}

    ),

    fields as (

        select
            {{ key }},
            field_name,
            {#- There is no max() of jsonb; a key is there once a side. #}
            (array_agg(field_json) filter (where side = 'left'))[1] as left_jsonb,
            (array_agg(field_json) filter (where side = 'right'))[1] as right_jsonb
        from members
        group by {{ key }}, field_name

    )

    select
        {{ key }},
        field_name,
        {{ synctrail.postgres_json_text('left_jsonb', 4) }} as left_json,
        {{ synctrail.postgres_json_text('right_jsonb', 4) }} as right_json
    from fields
    where left_jsonb is distinct from right_jsonb
{% endmacro %}

{# A jsonb as compact text, the keys of objects sorted down to so many levels. #}
{% macro postgres_json_text(json, levels) %}
    {%- set name = 'level' ~ levels -%}
    {%- if levels == 0 -%}
        {{- return(synctrail.regexp_replace(
            'cast(' ~ json ~ ' as text)', '("(?:[^"\\\\]|\\\\.)*")|([:,]) ', '\\1\\2'
        )) -}}
    {%- endif -%}
    {{- return(
        "case jsonb_typeof(" ~ json ~ ") when 'object' then (select '{' || coalesce(string_agg(cast(to_json("
        ~ name ~ '.key) as text) || \':\' || ' ~ synctrail.postgres_json_text(name ~ '.value', levels - 1)
        ~ ", ',' order by " ~ name ~ ".key collate \"C\"), '') || '}' from jsonb_each(" ~ json ~ ') as ' ~ name
        ~ ") when 'array' then (select '[' || coalesce(string_agg("
        ~ synctrail.postgres_json_text(name ~ '.value', levels - 1) ~ ", ',' order by " ~ name
        ~ ".place), '') || ']' from jsonb_array_elements(" ~ json ~ ') with ordinality as ' ~ name
        ~ ' (value, place)) else cast(' ~ json ~ ' as text) end'
    ) -}}
{% endmacro %}

{# What follows the CTE `members`, a row for each member of either side, where texts tell whether two are equal. #}
{% macro differing_json_members(key) -%}
fields as (

        select
            {{ key }},
            field_name,
            max(case when side = 'left' then field_json end) as left_json,
            max(case when side = 'right' then field_json end) as right_json
        from members
        group by {{ key }}, field_name

    )

    select
        {{ key }},
        field_name,
        left_json,
        right_json
    from fields
    where {{ synctrail.is_distinct('left_json', 'right_json') }}
{%- endmacro %}

{#
    Neither the order of an object's keys nor the zeros at a number's end are documented of json_serialize: of a number
    that is a field's value, they are taken off.
    https://docs.aws.amazon.com/redshift/latest/dg/query-super.html#unpivoting
#}
{% macro redshift__json_differences(relation, key, left, right) %}
    with objects as (

        select
            {{ key }},
            json_parse({{ left }}) as left_object,
            json_parse({{ right }}) as right_object
        from {{ relation }}

    ),

    members as (

        {%- for side in ['left', 'right'] %}
        select
            pairs.{{ key }},
            '{{ side }}' as side,
            field_name,
            {{ synctrail.regexp_replace(
                'json_serialize(field_value)', '^(-?[0-9]+[.][0-9]*[1-9])0+$', '\\1'
            ) }} as field_json
        from objects as pairs, unpivot pairs.{{ side }}_object as field_value at field_name
        {%- if not loop.last %}
        union all
        {%- endif %}
        {%- endfor %}

    ),

    {{ synctrail.differing_json_members(key) }}
{% endmacro %}

{#
    The order of keys in what to_json writes is not documented; a variant keeps the last of equal keys, and Snowflake
    writes equal objects alike. An array's elements have no key, and no pair is an array (json_is_object).
    https://docs.snowflake.com/en/sql-reference/functions/flatten
#}
{% macro snowflake__json_differences(relation, key, left, right) %}
    with members as (

        {%- for side, payload in [('left', left), ('right', right)] %}
        select
            pairs.{{ key }},
            '{{ side }}' as side,
            member.key as field_name,
            to_json(member.value) as field_json
        from {{ relation }} as pairs,
            lateral flatten(input => {{ synctrail.snowflake_json(payload) }}) as member
        {%- if not loop.last %}
        union all
        {%- endif %}
        {%- endfor %}

    ),

    {{ synctrail.differing_json_members(key) }}
{% endmacro %}

{#
    A variant sorts its keys and forgets how a number was written; from_json remembers, and is asked about
    the numbers that differ alone. Each member is written as `<length of the key>:<key><JSON text>`:
    array_except hashes texts, but compares structs one with all.
    https://spark.apache.org/docs/latest/sql-ref-datatypes.html
#}
{% macro spark__json_differences(relation, key, left, right) %}
    with members as (

        select
            {{ key }},
            {{ left }} as left_payload,
            {{ right }} as right_payload,
            {%- for side, payload in [('left', left), ('right', right)] %}
            transform(
                map_entries({{ synctrail.spark_json_object(payload) }}),
                member -> concat(length(member.key), ':', member.key, coalesce(to_json(member.value), 'null'))
            ) as {{ side }}_members
            {%- if not loop.last %},{% endif %}
            {%- endfor %}
        from {{ relation }}

    ),

    differing_members as (

        select
            {{ key }},
            left_payload,
            right_payload,
            explode(concat(
                transform(
                    array_except(left_members, right_members), member -> struct('left' as side, member as text)
                ),
                transform(
                    array_except(right_members, left_members), member -> struct('right' as side, member as text)
                )
            )) as member
        from members

    ),

    fields as (

        select
            {{ key }},
            member.side,
            case when member.side = 'left' then left_payload else right_payload end as payload,
            substring(
                member.text,
                instr(member.text, ':') + 1,
                cast(substring_index(member.text, ':', 1) as int)
            ) as field_name,
            substring(
                member.text, instr(member.text, ':') + 1 + cast(substring_index(member.text, ':', 1) as int)
            ) as field_json
        from differing_members

    ),

    worded_fields as (

        select
            {{ key }},
            side,
            field_name,
            case
                when field_json rlike '^-?[0-9]'
                    then coalesce(
                        try_element_at(from_json(payload, 'map<string, string>'), field_name), field_json
                    )
                else field_json
            end as field_json
        from fields

    )

    select
        {{ key }},
        field_name,
        max(case when side = 'left' then field_json end) as left_json,
        max(case when side = 'right' then field_json end) as right_json
    from worded_fields
    group by {{ key }}, field_name
{% endmacro %}
