select
    failed_records.record_identifier,
    failed_records.category,
    count(record_errors.log_id) as n_errors
from {{ ref('synctrail', 'failed_records') }} as failed_records
left join {{ ref('synctrail', 'record_errors') }} as record_errors
    on failed_records.sync_id = record_errors.sync_id
    and failed_records.record_identifier = record_errors.record_identifier
group by failed_records.record_identifier, failed_records.category
