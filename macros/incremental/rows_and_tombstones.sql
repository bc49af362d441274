{#
    What a build writes into a history table: the rows as they are now and, where it adds to the table, a tombstone for
    each stored row of what it has touched that is no more. Engines that would work a CTE out for each reference tell
    which by a window over both, which reads the rows as they are now once.

    rows: name of the CTE of the rows as they are now
    unique_key: the table's key
    columns: the table's columns, but for the two of the history itself
    of_touched: what follows `from <the table> as stored` to keep the rows of what the build has touched, each once;
        none where the build loses no row
#}
{% macro rows_and_tombstones(rows, unique_key, columns, of_touched) %}
{%- if of_touched is none or not synctrail.is_incremental_build() -%}
{% set rows_to_store -%}
select
    {{ columns | join(',\n    ') }},
    false as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from {{ rows }}
{%- endset %}
{{- synctrail.in_storage_order(rows_to_store, 'sync_key' if 'sync_key' in columns) }}
{%- elif synctrail.keeps_ctes() -%}
select
    {{ columns | join(',\n    ') }},
    false as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from {{ rows }}

union all

select
    {{ synctrail.stored_columns(columns, is_tombstone=true) }},
    true as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from {{ this }} as stored
where stored.{{ unique_key }} in (
    {#- By keys alone: seldom is one gone, and then the rest of its row is read. #}
    select stored.{{ unique_key }}
    from {{ this }} as stored
    {{ of_touched }}
        and not stored._is_deleted
        and not exists (
            select 1 from {{ rows }} as current_rows where current_rows.{{ unique_key }} = stored.{{ unique_key }}
        )
)
{%- else -%}
select
    {{ columns | join(',\n    ') }},
    _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from (
    select
        *,
        row_number() over (
            partition by {{ unique_key }} order by case when _is_deleted then 1 else 0 end
        ) as place
    from (
        select
            {{ columns | join(',\n            ') }},
            false as _is_deleted
        from {{ rows }}

        union all

        select
            {{ synctrail.stored_columns(columns, is_tombstone=true) }},
            true as _is_deleted
        from {{ this }} as stored
        {{ of_touched }}
            and not stored._is_deleted
    ) as candidates
) as placed_candidates
where place = 1
{%- endif %}
{% endmacro %}
