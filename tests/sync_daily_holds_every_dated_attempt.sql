with days as (

    select
        source_system,
        sync_id,
        sum(n_attempts) as n_attempts,
        sum(n_added + n_changed + n_removed) as n_changes
    from {{ ref('sync_daily') }}
    group by source_system, sync_id

),

attempts as (

    select
        source_system,
        sync_id,
        count(occurred_at) as n_attempts
    from {{ ref('sync_log') }}
    group by source_system, sync_id

)

select
    attempts.sync_id as logged_sync_id,
    days.sync_id,
    attempts.n_attempts as n_logged,
    days.n_attempts,
    days.n_changes
from attempts
full outer join days on attempts.source_system = days.source_system and attempts.sync_id = days.sync_id
where
    coalesce(attempts.n_attempts, 0) <> coalesce(days.n_attempts, 0)
    or coalesce(attempts.n_attempts, 0) <> coalesce(days.n_changes, 0)
