with records as (

    select * from {{ ref('int_failed_records') }}
    where not _is_deleted

),

errors as (

    select * from {{ ref('int_record_errors') }}
    where not _is_deleted

)

select
    records.source_system,
    records.sync_id,
    records.record_identifier,
    records.op_type,
    records.status,
    records.invalid_reason,
    records.status_message,
    errors.category,
    errors.is_retryable,
    errors.suggested_action,
    errors.error_fingerprint,
    records.first_failed_at,
    records.n_failed_attempts,
    records.last_failed_at,
    records.last_succeeded_at,
    records.sync_run_id,
    records.record_payload
from records
left join errors on records.log_key = errors.log_key
