with runs as (

    select * from {{ ref('int_sync_runs') }}

),

net_members as (

    select
        runs.source_system,
        runs.sync_id,
        sum(run_days.n_members_gained - run_days.n_members_lost) as n_members
    from {{ ref('int_run_days') }} as run_days
    inner join runs on run_days.run_key = runs.run_key
    where not run_days._is_deleted
    group by runs.source_system, runs.sync_id

)

select
    health.source_system,
    health.sync_id,
    health.n_current_members,
    net_members.n_members
from {{ ref('sync_health') }} as health
left join net_members
    on health.source_system = net_members.source_system and health.sync_id = net_members.sync_id
where health.n_current_members <> coalesce(net_members.n_members, 0)
