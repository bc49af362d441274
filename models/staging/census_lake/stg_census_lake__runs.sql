with runs as (

    select * from {{ source('census_lake', 'sync_tracking_runs') }}

)

select
    'census_lake' as source_system,
    org_id,
    workspace_id,
    sync_id,
    sync_run_id,
    source_type,
    source_id,
    source_object_id,
    destination_type,
    destination_id,
    destination_object_id,
    {{ synctrail.utc_timestamp('sync_run_started_at') }} as declared_started_at,
    metadata is not null as has_metadata
from runs
