select
    source_system,
    sync_id,
    record_identifier,
    first_added_at,
    first_attempted_at
from {{ ref('record_activity') }}
where first_added_at is not null
order by source_system, sync_id, first_added_at, record_identifier
