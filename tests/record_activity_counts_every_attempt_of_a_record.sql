with activity as (

    select
        source_system,
        sync_id,
        sum(n_attempts) as n_attempts,
        sum(n_entries) as n_entries
    from {{ ref('record_activity') }}
    group by source_system, sync_id

),

attempts as (

    select
        source_system,
        sync_id,
        count(*) as n_attempts
    from {{ ref('sync_log') }}
    where record_identifier <> ''
    group by source_system, sync_id

),

entries as (

    select
        source_system,
        sync_id,
        count(*) as n_entries
    from {{ ref('audience_events') }}
    where event_type = 'entered'
    group by source_system, sync_id

)

select
    attempts.source_system,
    attempts.sync_id,
    attempts.n_attempts,
    activity.n_attempts as n_attempts_by_record,
    entries.n_entries,
    activity.n_entries as n_entries_by_record
from attempts
left join activity on attempts.source_system = activity.source_system and attempts.sync_id = activity.sync_id
left join entries on attempts.source_system = entries.source_system and attempts.sync_id = entries.sync_id
where attempts.n_attempts <> coalesce(activity.n_attempts, 0)
    or coalesce(entries.n_entries, 0) <> coalesce(activity.n_entries, 0)
