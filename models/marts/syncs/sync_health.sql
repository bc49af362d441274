{{ config(**synctrail.table_config()) }}

with syncs as (

    select * from {{ ref('int_syncs') }}

),

runs as (

    select * from {{ ref('int_run_measures') }}

),

members as (

    select
        sync_key,
        count(*) as n_current_members
    from {{ ref('int_sync_records') }}
    where in_destination and not _is_deleted
    group by sync_key

),

open_failed_records as (

    select
        sync_key,
        count(*) as n_open_failed_records
    from {{ ref('int_failed_records') }}
    where not _is_deleted
    group by sync_key

),

payloads as (

    select
        sync_key,
        sum(n_unparseable_payloads) as n_unparseable_payloads
    from {{ ref('int_sync_runs') }}
    group by sync_key

),

last_good_runs as (

    select
        sync_key,
        max(run_number) as run_number
    from runs
    where status <> 'failed'
    group by sync_key

),

run_totals as (

    select
        runs.sync_key,
        count(*) as n_runs,
        sum(case when runs.status = 'failed' then 1 else 0 end) as n_failed_runs,
        sum(case when runs.run_number > coalesce(last_good_runs.run_number, 0) then 1 else 0 end)
            as consecutive_failed_runs,
        min(runs.started_at) as first_run_at,
        max(runs.started_at) as last_run_at,
        max(case when runs.status = 'succeeded' then runs.started_at end) as last_succeeded_run_at,
        sum(runs.n_planned) as n_planned,
        sum(runs.n_attempted) as n_attempted,
        sum(runs.n_succeeded) as n_succeeded,
        sum(runs.n_invalid) as n_invalid,
        avg(runs.duration_seconds) as avg_duration_seconds,
        {{ synctrail.percentile('runs.duration_seconds', 0.95) }} as p95_duration_seconds,
        sum(case when runs.duration_seconds is not null then runs.n_attempted end) as n_timed_attempts,
        sum(runs.duration_seconds) as total_duration_seconds
    from runs
    left join last_good_runs on runs.sync_key = last_good_runs.sync_key
    group by runs.sync_key

),

{# Redshift wants the percentiles of one select to be of one column. -#}
intervals as (

    select
        sync_key,
        {{ synctrail.percentile('seconds_since_previous_run', 0.5) }} as median_run_interval_seconds
    from runs
    group by sync_key

),

timed as (

    select
        run_totals.*,
        intervals.median_run_interval_seconds,
        {{ synctrail.seconds_between('last_run_at', synctrail.as_of()) }} as seconds_since_last_run
    from run_totals
    inner join intervals on run_totals.sync_key = intervals.sync_key

)

select
    syncs.source_system,
    syncs.sync_id,
    syncs.audience_name,
    syncs.destination,
    cast(timed.n_runs as {{ dbt.type_bigint() }}) as n_runs,
    cast(timed.n_failed_runs as {{ dbt.type_bigint() }}) as n_failed_runs,
    cast(timed.consecutive_failed_runs as {{ dbt.type_bigint() }}) as consecutive_failed_runs,
    timed.first_run_at,
    timed.last_run_at,
    timed.last_succeeded_run_at,
    cast(timed.n_succeeded as {{ synctrail.type_double() }}) / nullif(timed.n_attempted, 0) as success_rate,
    cast(timed.n_invalid as {{ synctrail.type_double() }}) / nullif(timed.n_planned, 0) as invalid_rate,
    timed.avg_duration_seconds,
    timed.p95_duration_seconds,
    case when timed.total_duration_seconds > 0 then timed.n_timed_attempts / timed.total_duration_seconds end
        as records_per_second,
    cast(coalesce(members.n_current_members, 0) as {{ dbt.type_bigint() }}) as n_current_members,
    cast(coalesce(open_failed_records.n_open_failed_records, 0) as {{ dbt.type_bigint() }})
        as n_open_failed_records,
    cast(coalesce(payloads.n_unparseable_payloads, 0) as {{ dbt.type_bigint() }}) as n_unparseable_payloads,
    timed.median_run_interval_seconds,
    timed.seconds_since_last_run,
    coalesce(
        timed.n_runs >= 3
        and timed.seconds_since_last_run
            > {{ var('synctrail_stale_factor') }} * timed.median_run_interval_seconds,
        false
    ) as is_stale
from timed
inner join syncs on timed.sync_key = syncs.sync_key
left join members on timed.sync_key = members.sync_key
left join open_failed_records on timed.sync_key = open_failed_records.sync_key
left join payloads on timed.sync_key = payloads.sync_key
