with records as (

    select * from {{ ref('int_sync_records') }}
    where is_in_model and not _is_deleted

),

runs as (

    select * from {{ ref('int_run_order') }}

)

select
    records.sync_id,
    case when runs.is_latest_run then records.op_type else 'unchanged' end as op_type,
    records.row_id,
    {{ synctrail.failed_status('records.status') }} as status,
    records.failure_reason,
    records.failure_reason as failed_reason,
    records.fields,
    records.split_group,
    records.source_system,
    records.sync_run_id,
    coalesce(records.batch_started_at, runs.started_at, records._census_logged_at) as last_attempted_at,
    records.in_destination
from records
left join runs on records.run_key = runs.run_key
