select
    errors.source_system,
    errors.sync_id,
    errors.destination,
    errors.category,
    errors.error_template,
    errors.suggested_action,
    count(*) as n_errors,
    count(distinct errors.record_identifier) as n_records,
    max(errors.occurred_at) as last_seen_at
from {{ ref('record_errors') }} as errors
where errors.status = 'rejected'
group by
    errors.source_system,
    errors.sync_id,
    errors.destination,
    errors.category,
    errors.error_template,
    errors.suggested_action
order by n_records desc, n_errors desc
