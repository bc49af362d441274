with days as (

    select
        source_system,
        sync_id,
        sum(n_entered) as n_entered,
        sum(n_exited) as n_exited,
        max(date) as last_date
    from {{ ref('audience_daily') }}
    group by source_system, sync_id

),

last_days as (

    select
        days.source_system,
        days.sync_id,
        days.n_entered,
        days.n_exited,
        audience_daily.n_members
    from days
    inner join {{ ref('audience_daily') }} as audience_daily
        on days.source_system = audience_daily.source_system
        and days.sync_id = audience_daily.sync_id
        and days.last_date = audience_daily.date

),

spells as (

    select
        source_system,
        sync_id,
        sum(case when entry_observed then 1 else 0 end) as n_entered,
        sum(case when is_current then 0 else 1 end) as n_exited,
        sum(case when is_current then 1 else 0 end) as n_members
    from {{ ref('audience_memberships') }}
    group by source_system, sync_id

)

select
    last_days.source_system,
    last_days.sync_id,
    last_days.n_entered,
    last_days.n_exited,
    last_days.n_members,
    spells.n_entered as n_entered_by_spells,
    spells.n_exited as n_exited_by_spells,
    spells.n_members as n_members_by_spells
from last_days
left join spells on last_days.source_system = spells.source_system and last_days.sync_id = spells.sync_id
where last_days.n_entered <> coalesce(spells.n_entered, 0)
    or last_days.n_exited <> coalesce(spells.n_exited, 0)
    or last_days.n_members <> coalesce(spells.n_members, 0)
