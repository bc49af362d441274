{{ config(**synctrail.table_config('sync_id', day='date')) }}

{%- set attempt_counts = [
    'n_attempts', 'n_succeeded', 'n_rejected', 'n_invalid', 'n_added', 'n_changed', 'n_removed',
    'n_inferred_removals'
] %}

with syncs as (

    select * from {{ ref('int_syncs') }}

),

runs as (

    select * from {{ ref('int_sync_runs') }}

),

run_days as (

    select * from {{ ref('int_run_days') }}
    where not _is_deleted and activity_date is not null

),

activity as (

    select
        sync_key,
        {{ synctrail.utc_date('started_at') }} as activity_date,
        1 as n_runs,
        {%- for column in attempt_counts %}
        0 as {{ column }}{% if not loop.last %},{% endif %}
        {%- endfor %}
    from runs
    where started_at is not null

    union all

    select
        runs.sync_key,
        run_days.activity_date,
        0 as n_runs,
        {{ synctrail.prefixed('run_days', attempt_counts) }}
    from run_days
    inner join runs on run_days.run_key = runs.run_key

),

activity_by_date as (

    select
        sync_key,
        activity_date,
        {%- for column in ['n_runs'] + attempt_counts %}
        sum({{ column }}) as {{ column }}{% if not loop.last %},{% endif %}
        {%- endfor %}
    from activity
    group by sync_key, activity_date

),

sync_dates as (

    select
        sync_key,
        min(activity_date) as first_date,
        max(activity_date) as last_date
    from activity_by_date
    group by sync_key

),

spine as (
    {{ synctrail.date_spine('sync_dates', ['sync_key'], 'first_date', 'last_date') }}
)

select
    syncs.source_system,
    syncs.sync_id,
    spine.spine_date as date,
    {%- for column in ['n_runs'] + attempt_counts %}
    cast(coalesce(activity_by_date.{{ column }}, 0) as {{ dbt.type_bigint() }}) as {{ column }}
    {%- if not loop.last %},{% endif %}
    {%- endfor %}
from spine
inner join syncs on spine.sync_key = syncs.sync_key
left join activity_by_date
    on spine.sync_key = activity_by_date.sync_key
    and spine.spine_date = activity_by_date.activity_date
