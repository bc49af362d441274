with changes as (

    select * from {{ ref('int_field_changes') }}
    where not _is_deleted

),

runs as (

    select * from {{ ref('int_run_order') }}

)

select
    changes.source_system,
    changes.sync_id,
    changes.sync_run_id,
    changes.previous_run_id,
    changes.record_identifier,
    changes.field_name,
    changes.change_type,
    changes.old_value,
    changes.new_value,
    coalesce(changes.batch_started_at, runs.started_at, changes._census_logged_at) as changed_at
from changes
left join runs on changes.run_key = runs.run_key
