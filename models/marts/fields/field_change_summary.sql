select
    source_system,
    sync_id,
    field_name,
    n_changes,
    n_records,
    n_runs,
    n_sole_changes,
    share_of_updates,
    first_changed_at,
    last_changed_at,
    noise_hint
from {{ ref('int_field_counts') }}
where not _is_deleted
