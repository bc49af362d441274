with changes as (

    select
        source_system,
        log_id,
        count(*) as n_changes
    from {{ ref('sync_changelog') }}
    where not is_inferred
    group by source_system, log_id

),

attempts as (

    select
        source_system,
        log_id,
        count(*) as n_attempts
    from {{ ref('sync_log') }}
    group by source_system, log_id

)

select
    attempts.log_id as attempted_log_id,
    changes.log_id as changed_log_id,
    attempts.n_attempts,
    changes.n_changes
from attempts
full outer join changes on attempts.source_system = changes.source_system and attempts.log_id = changes.log_id
where coalesce(attempts.n_attempts, 0) <> 1 or coalesce(changes.n_changes, 0) <> 1
