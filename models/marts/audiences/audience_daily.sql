{{ config(**synctrail.table_config('sync_id', day='date')) }}

with spells as (

    select * from {{ ref('int_audience_spells') }}
    where not _is_deleted

),

syncs as (

    select * from {{ ref('int_syncs') }}

),

sync_dates as (

    select
        source_system,
        sync_id,
        date,
        min(date) over (partition by source_system, sync_id) as first_date
    from {{ ref('sync_daily') }}

),

dates as (

    select
        syncs.sync_key,
        syncs.source_system,
        syncs.sync_id,
        syncs.audience_name,
        sync_dates.date,
        sync_dates.first_date
    from sync_dates
    inner join syncs on sync_dates.source_system = syncs.source_system and sync_dates.sync_id = syncs.sync_id

),

first_dates as (

    select
        sync_key,
        first_date
    from dates
    where date = first_date

),

dated_spells as (

    select
        spells.sync_key,
        spells.entry_observed,
        spells.is_current,
        coalesce({{ synctrail.utc_date('spells.entered_at') }}, first_dates.first_date) as entered_date,
        {{ synctrail.utc_date('spells.exited_at') }} as exited_date
    from spells
    inner join first_dates on spells.sync_key = first_dates.sync_key

),

{# Runs whose batches lie out of order can date an exit before its entry: such a spell was in on no day. -#}
changes as (

    select
        sync_key,
        entered_date as change_date,
        case when entry_observed then 1 else 0 end as n_entered,
        0 as n_exited,
        1 as members_change
    from dated_spells

    union all

    select
        sync_key,
        coalesce(exited_date, entered_date) as change_date,
        0 as n_entered,
        1 as n_exited,
        0 as members_change
    from dated_spells
    where not is_current

    union all

    select
        sync_key,
        case when exited_date > entered_date then exited_date else entered_date end as change_date,
        0 as n_entered,
        0 as n_exited,
        -1 as members_change
    from dated_spells
    where not is_current

),

changes_by_date as (

    select
        sync_key,
        change_date,
        sum(n_entered) as n_entered,
        sum(n_exited) as n_exited,
        sum(members_change) as members_change
    from changes
    group by sync_key, change_date

)

select
    dates.source_system,
    dates.sync_id,
    dates.audience_name,
    dates.date,
    cast(coalesce(changes_by_date.n_entered, 0) as {{ dbt.type_bigint() }}) as n_entered,
    cast(coalesce(changes_by_date.n_exited, 0) as {{ dbt.type_bigint() }}) as n_exited,
    cast(sum(coalesce(changes_by_date.members_change, 0)) over (
        partition by dates.sync_key order by dates.date rows between unbounded preceding and current row
    ) as {{ dbt.type_bigint() }}) as n_members
from dates
left join changes_by_date
    on dates.sync_key = changes_by_date.sync_key
    and dates.date = changes_by_date.change_date
