{{ config(**synctrail.incremental_config('record_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_changelog'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{%- set columns = [
    'record_key', 'sync_key', 'log_key', 'source_system', 'sync_id', 'sync_run_id', 'record_identifier', 'op_type',
    'status', 'invalid_reason', 'status_message', 'record_payload', 'first_failed_at', 'n_failed_attempts',
    'last_failed_at', 'last_succeeded_at'
] %}

with runs as (

    select * from {{ ref('int_run_order') }}

),

{% if is_incremental_build -%}
touched_records as (

    select distinct record_key from {{ ref('int_sync_changelog') }} as changelog
    where _build_id > {{ last_build_id }} and record_key is not null

),

{% endif -%}
last_runs as (

    select
        changelog.record_key,
        max(runs.run_number) as last_run_number,
        coalesce(max(case when changelog.status = 'succeeded' then runs.run_number end), 0)
            as last_succeeded_run_number
    from {{ ref('int_sync_changelog') }} as changelog
    inner join runs on changelog.run_key = runs.run_key
    {%- if is_incremental_build %}
    inner join touched_records on changelog.record_key = touched_records.record_key
    {%- endif %}
    where
        changelog.is_final_attempt
        and not changelog._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}
    group by changelog.record_key

),

unsucceeded_records as (

    select * from last_runs
    where last_run_number > last_succeeded_run_number

),

{# From the last succeeded final attempt on, itself included. -#}
attempts_since as (

    select
        changelog.record_key,
        changelog.log_key,
        changelog.op_type,
        changelog.status,
        coalesce(changelog.batch_started_at, runs.started_at, changelog._census_logged_at) as occurred_at,
        runs.run_number = unsucceeded_records.last_run_number as is_last,
        runs.run_number = unsucceeded_records.last_succeeded_run_number as is_success,
        row_number() over (
            partition by changelog.record_key, changelog.status = 'succeeded' order by runs.run_number
        ) as place
    from unsucceeded_records
    inner join {{ ref('int_sync_changelog') }} as changelog
        on unsucceeded_records.record_key = changelog.record_key
    inner join runs on changelog.run_key = runs.run_key
    where
        changelog.is_final_attempt
        and not changelog._is_deleted
        and runs.run_number >= unsucceeded_records.last_succeeded_run_number
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}

),

series as (

    select
        record_key,
        max(case when is_last then log_key end) as log_key,
        max(case when is_last then op_type end) as op_type,
        max(case when is_last then status end) as status,
        max(case when is_last then occurred_at end) as last_failed_at,
        max(case when is_success then occurred_at end) as last_succeeded_at,
        max(case when place = 1 and not is_success then occurred_at end) as first_failed_at,
        cast(sum(case when is_success then 0 else 1 end) as {{ dbt.type_bigint() }}) as n_failed_attempts
    from attempts_since
    group by record_key

),

failed_records as (

    select
        series.record_key,
        sync_log.sync_key,
        series.log_key,
        sync_log.source_system,
        sync_log.sync_id,
        sync_log.sync_run_id,
        sync_log.record_identifier,
        series.op_type,
        series.status,
        sync_log.invalid_reason,
        sync_log.status_message,
        sync_log.record_payload,
        series.first_failed_at,
        series.n_failed_attempts,
        series.last_failed_at,
        series.last_succeeded_at
    from series
    inner join {{ ref('int_sync_log') }} as sync_log on series.log_key = sync_log.log_key
    where
        series.status in ('rejected', 'invalid', 'aborted')
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('sync_log', touched_syncs) }}
        {%- endif %}

)

{{ synctrail.rows_and_tombstones('failed_records', 'record_key', columns,
    'inner join touched_records on stored.record_key = touched_records.record_key where '
    ~ synctrail.of_touched_syncs('stored', touched_syncs)
) }}
