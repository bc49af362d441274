{{ config(**synctrail.table_config()) }}

with runs as (

    select
        *,
        {{ synctrail.run_key() }} as run_key
    from {{ ref('sync_runs') }}

),

run_order as (

    select * from {{ ref('int_run_order') }}

),

memberships as (

    select
        run_key,
        sum(n_members_attempted) as n_members_attempted,
        sum(n_members_gained - n_members_lost) as n_members_net
    from {{ ref('int_run_days') }}
    where not _is_deleted
    group by run_key

),

measured as (

    select
        runs.run_key,
        run_order.sync_key,
        run_order.run_number,
        runs.sync_run_id,
        runs.status,
        runs.started_at,
        {%- for outcome in ['planned', 'attempted', 'succeeded', 'failed'] %}
        runs.num_{{ outcome }}_add + runs.num_{{ outcome }}_change + runs.num_{{ outcome }}_remove
            as n_{{ outcome }},
        {%- endfor %}
        runs.num_invalid as n_invalid,
        runs.duration_seconds,
        coalesce(memberships.n_members_attempted, 0) as n_members_attempted,
        coalesce(memberships.n_members_net, 0) as n_members_net
    from runs
    inner join run_order on runs.run_key = run_order.run_key
    left join memberships on runs.run_key = memberships.run_key

)

select
    run_key,
    sync_key,
    run_number,
    sync_run_id,
    status,
    started_at,
    n_planned,
    n_attempted,
    n_succeeded,
    n_failed,
    n_invalid,
    duration_seconds,
    {{ synctrail.seconds_between(
        'lag(started_at) over (partition by sync_key order by run_number)', 'started_at'
    ) }} as seconds_since_previous_run,
    n_members_attempted,
    cast(coalesce(sum(n_members_net) over (
        partition by sync_key order by run_number rows between unbounded preceding and 1 preceding
    ), 0) as {{ dbt.type_bigint() }}) as n_members_before
from measured
