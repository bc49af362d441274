with activity as (

    select * from {{ ref('int_record_activity') }}
    where not _is_deleted

)

select
    source_system,
    sync_id,
    record_identifier,
    first_added_at,
    first_attempted_at,
    last_attempted_at,
    last_op_type,
    last_status,
    n_attempts,
    n_succeeded,
    n_failed,
    n_changed_payloads,
    n_entries,
    n_exits,
    n_entries >= {{ var('synctrail_flapping_entries') }} as is_flapping
from activity
