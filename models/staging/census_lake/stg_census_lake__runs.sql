{{ config(enabled=synctrail.reads_source('census_lake')) }}

with runs as (
    {{ synctrail.source_rows(
        'census_lake', 'sync_tracking_runs',
        text=[
            'org_id', 'workspace_id', 'sync_id', 'sync_run_id', 'source_type', 'source_id', 'source_object_id',
            'destination_type', 'destination_id', 'destination_object_id', 'metadata'
        ],
        timestamps=['sync_run_started_at'],
        ids=['org_id', 'sync_id']
    ) }}
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
    sync_run_started_at as declared_started_at,
    metadata is not null as has_metadata,
    {{ synctrail.no_given_run_columns() }}
from runs
