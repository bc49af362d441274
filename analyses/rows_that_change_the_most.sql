select
    source_system,
    sync_id,
    record_identifier,
    count(distinct sync_run_id) as n_updates,
    count(*) as n_field_changes,
    count(distinct field_name) as n_fields,
    min(changed_at) as first_changed_at,
    max(changed_at) as last_changed_at
from {{ ref('field_changes') }}
group by source_system, sync_id, record_identifier
order by n_updates desc, n_field_changes desc, source_system, sync_id, record_identifier
limit 100
