select
    record_identifier,
    category,
    status_message,
    n_failed_attempts,
    first_failed_at,
    last_succeeded_at
from {{ ref('failed_records') }}
where {{ synctrail.of_sync(var('synctrail_sync_id')) }}
    and record_identifier in (
        {{ synctrail.failed_record_identifiers(var('synctrail_sync_id'), min_failed_attempts=3) }}
    )
order by n_failed_attempts desc, record_identifier asc
