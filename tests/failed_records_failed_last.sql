select
    failed_records.source_system,
    failed_records.sync_id,
    failed_records.record_identifier,
    failed_records.status,
    record_activity.last_status
from {{ ref('failed_records') }} as failed_records
left join {{ ref('record_activity') }} as record_activity
    on failed_records.source_system = record_activity.source_system
    and failed_records.sync_id = record_activity.sync_id
    and failed_records.record_identifier = record_activity.record_identifier
where coalesce(record_activity.last_status, '') <> failed_records.status
