select
    record_identifier,
    category,
    status_message,
    n_failed_attempts,
    first_failed_at,
    last_succeeded_at
from {{ ref('failed_records') }}
where sync_id = {{ dbt.string_literal(dbt.escape_single_quotes(var('synctrail_sync_id', '') | string)) }}
    and record_identifier in (
        {{ synctrail.failed_record_identifiers(var('synctrail_sync_id', ''), min_failed_attempts=3) }}
    )
order by n_failed_attempts desc, record_identifier asc
