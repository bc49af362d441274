{# Hightouch counts for itself, records that it does not log among them. -#}
with runs as (

    select
        source_system,
        sync_id,
        sync_run_id,
        num_planned_add + num_planned_change + num_planned_remove as n_planned,
        num_attempted_add + num_attempted_change + num_attempted_remove as n_attempted,
        num_succeeded_add + num_succeeded_change + num_succeeded_remove as n_succeeded,
        num_failed_add + num_failed_change + num_failed_remove as n_failed,
        num_invalid as n_invalid
    from {{ ref('sync_runs') }}
    where source_system <> 'hightouch'

),

attempts as (

    select
        source_system,
        sync_id,
        sync_run_id,
        count(*) as n_attempts,
        sum(case when status = 'succeeded' then 1 else 0 end) as n_succeeded,
        sum(case when status = 'rejected' then 1 else 0 end) as n_failed,
        sum(case when status = 'invalid' then 1 else 0 end) as n_invalid
    from {{ ref('sync_log') }}
    where source_system <> 'hightouch'
    group by source_system, sync_id, sync_run_id

)

select
    runs.sync_run_id,
    attempts.sync_run_id as logged_run_id,
    runs.n_planned,
    attempts.n_attempts
from attempts
full outer join runs
    on attempts.source_system = runs.source_system
    and attempts.sync_id = runs.sync_id
    and attempts.sync_run_id = runs.sync_run_id
where
    runs.sync_run_id is null
    or runs.n_planned <> coalesce(attempts.n_attempts, 0)
    or runs.n_attempted <> runs.n_succeeded + runs.n_failed
    or runs.n_succeeded <> coalesce(attempts.n_succeeded, 0)
    or runs.n_failed <> coalesce(attempts.n_failed, 0)
    or runs.n_invalid <> coalesce(attempts.n_invalid, 0)
