with records as (

    select * from {{ ref('int_failed_records') }}
    where not _is_deleted

)

select
    source_system,
    sync_id,
    record_identifier,
    op_type,
    status,
    status_message,
    first_failed_at,
    n_failed_attempts,
    last_failed_at,
    last_succeeded_at,
    record_payload
from records
