with errors as (

    select * from {{ ref('int_record_errors') }}
    where not _is_deleted

)

select
    source_system,
    sync_id,
    sync_run_id,
    log_id,
    record_identifier,
    status,
    invalid_reason,
    status_message,
    error_template,
    error_fingerprint,
    category,
    is_retryable,
    suggested_action,
    occurred_at,
    destination,
    resolved_at
from errors
