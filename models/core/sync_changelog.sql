with changes as (

    select * from {{ ref('int_sync_changelog') }}
    where not _is_deleted

),

runs as (

    select * from {{ ref('int_run_order') }}

)

select
    changes.sync_id,
    changes.sync_run_id,
    changes.op_type,
    changes.row_id,
    {{ synctrail.failed_status('changes.status') }} as status,
    changes.failure_reason,
    changes.failure_reason as failed_reason,
    changes.fields,
    changes.split_group,
    changes.source_system,
    changes.log_id,
    changes.operation,
    coalesce(changes.batch_started_at, runs.started_at, changes._census_logged_at) as occurred_at,
    runs.started_at,
    changes.is_final_attempt,
    changes.is_inferred
from changes
left join runs on changes.run_key = runs.run_key
