select
    source_system,
    sync_id,
    field_name,
    noise_hint,
    n_sole_changes,
    n_changes,
    share_of_updates,
    last_changed_at
from {{ ref('field_change_summary') }}
where noise_hint is not null or n_sole_changes * 2 > n_changes
order by n_sole_changes desc, n_changes desc, source_system, sync_id, field_name
