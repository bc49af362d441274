with attempts as (

    select * from {{ ref('int_sync_log') }}
    where not _is_deleted

),

runs as (

    select * from {{ ref('int_sync_runs') }}

)

select
    attempts.log_id,
    attempts.sync_id,
    attempts.sync_run_id,
    attempts.record_identifier,
    attempts.record_payload,
    attempts.batch_started_at,
    attempts.batch_completed_at,
    attempts.operation,
    attempts.status,
    attempts.status_message,
    attempts._census_logged_at,
    runs.destination_id,
    runs.destination_object_id,
    runs.source_id,
    runs.source_object_id,
    attempts.source_system,
    attempts.org_id,
    runs.workspace_id,
    attempts.invalid_reason,
    coalesce(attempts.batch_started_at, runs.started_at, attempts._census_logged_at) as occurred_at,
    attempts.split_group,
    attempts.payload_kind
from attempts
left join runs on attempts.run_key = runs.run_key
