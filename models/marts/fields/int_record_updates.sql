{{ config(**synctrail.incremental_config('log_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_changelog'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{%- set columns = ['log_key', 'record_key', 'sync_key', 'previous_log_key'] %}

with run_order as (

    select * from {{ ref('int_run_order') }}

),

{% if is_incremental_build -%}
touched_records as (

    select distinct record_key from {{ ref('int_sync_changelog') }} as changelog
    where _build_id > {{ last_build_id }} and record_key is not null

),

{% endif -%}
{# What a record's destination was last told, run by run: a payload, or its removal. -#}
succeeded_attempts as (

    select
        changelog.log_key,
        changelog.record_key,
        changelog.sync_key,
        changelog.op_type,
        changelog.operation_kind,
        changelog._build_id,
        lag(case when changelog.operation_kind = 'upsert' then changelog.log_key end) over (
            partition by changelog.record_key order by run_order.run_number
        ) as previous_log_key,
        lag(changelog._build_id) over (
            partition by changelog.record_key order by run_order.run_number
        ) as previous_build_id
    from {{ ref('int_sync_changelog') }} as changelog
    inner join run_order on changelog.run_key = run_order.run_key
    {%- if is_incremental_build %}
    inner join touched_records on changelog.record_key = touched_records.record_key
    {%- endif %}
    where
        not changelog._is_deleted
        and changelog.is_final_attempt
        and changelog.status = 'succeeded'
        and changelog.operation_kind <> 'append'
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}

),

updates as (

    select
        log_key,
        record_key,
        sync_key,
        previous_log_key,
        case when _build_id > previous_build_id then _build_id else previous_build_id end as newest_build_id
    from succeeded_attempts
    where op_type = 'changed' and operation_kind = 'upsert' and previous_log_key is not null

)
{%- if is_incremental_build %},

stored_updates as (

    select {{ synctrail.stored_columns(columns + ['_is_deleted']) }}
    from {{ this }} as stored
    inner join touched_records on stored.record_key = touched_records.record_key
    where {{ synctrail.of_touched_syncs('stored', touched_syncs) }}

)
{%- endif %}

{% set rows_to_store -%}
select
    {{ synctrail.prefixed('updates', columns) }},
    false as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from updates
{%- if is_incremental_build %}
left join stored_updates as stored on updates.log_key = stored.log_key
where updates.newest_build_id > {{ last_build_id }}
    or stored.log_key is null
    or stored._is_deleted
    or stored.previous_log_key <> updates.previous_log_key

union all

select
    {{ synctrail.prefixed('stored', columns) }},
    true as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from stored_updates as stored
left join updates on stored.log_key = updates.log_key
where not stored._is_deleted and updates.log_key is null
{%- endif %}
{%- endset %}
{{- synctrail.in_storage_order(rows_to_store, 'sync_key') }}
