{{ config(**synctrail.incremental_config('record_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_changelog'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{%- set changelog_columns = [
    'sync_key', 'run_key', 'log_key', 'source_system', 'sync_id', 'sync_run_id', 'row_id', 'op_type', 'status',
    'failure_reason', 'fields', 'payload_kind', 'split_group', 'batch_started_at', '_census_logged_at'
] -%}
{%- set columns = ['record_key'] + changelog_columns + ['is_in_model', 'in_destination'] %}

with {% if is_incremental_build -%}
touched_records as (

    select distinct record_key from {{ ref('int_sync_changelog') }}
    where _build_id > {{ last_build_id }} and record_key is not null

),

{% endif -%}
settled_attempts as (

    select
        changelog.log_key,
        changelog.record_key,
        row_number() over (partition by changelog.record_key order by run_order.run_number desc) as place_from_last,
        mod(coalesce(max(
            case
                when changelog.status = 'succeeded' and changelog.operation_kind = 'upsert'
                    then run_order.run_number * 2 + 1
                when changelog.status = 'succeeded' then run_order.run_number * 2
            end
        ) over (partition by changelog.record_key), 0), 2) = 1 as in_destination
    from {{ ref('int_sync_changelog') }} as changelog
    inner join {{ ref('int_run_order') }} as run_order on changelog.run_key = run_order.run_key
    {%- if is_incremental_build %}
    inner join touched_records on changelog.record_key = touched_records.record_key
    {%- endif %}
    where
        not changelog._is_deleted
        and changelog.is_final_attempt
        and changelog.operation_kind <> 'append'
        and changelog.status in ('succeeded', 'rejected', 'aborted')
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}

),

sync_records as (

    select
        settled_attempts.record_key,
        {{ synctrail.prefixed('changelog', changelog_columns) }},
        changelog.operation_kind <> 'removal' as is_in_model,
        settled_attempts.in_destination
    from settled_attempts
    inner join {{ ref('int_sync_changelog') }} as changelog on settled_attempts.log_key = changelog.log_key
    where
        settled_attempts.place_from_last = 1
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}

)

{{ synctrail.rows_and_tombstones('sync_records', 'record_key', columns,
    'inner join touched_records on stored.record_key = touched_records.record_key where '
    ~ synctrail.of_touched_syncs('stored', touched_syncs)
) }}
