{{ config(enabled=synctrail.reads_source('census_writeback')) }}

with attempts as (
    {{ synctrail.source_rows(
        'census_writeback', 'sync_log',
        text=[
            'sync_id', 'sync_run_id', 'source_id', 'source_object_id', 'destination_id', 'destination_object_id'
        ],
        ids=['sync_id'],
        is_quiet=true
    ) }}
),

runs as (

    select
        sync_id,
        sync_run_id,
        _schema_label as org_id,
        max(source_id) as source_id,
        max(source_object_id) as source_object_id,
        max(destination_id) as destination_id,
        max(destination_object_id) as destination_object_id
    from attempts
    group by sync_id, sync_run_id, _schema_label

)

select
    'census_writeback' as source_system,
    org_id,
    {{ synctrail.typed_nulls(['workspace_id']) }},
    sync_id,
    sync_run_id,
    {{ synctrail.typed_nulls(['source_type']) }},
    source_id,
    source_object_id,
    {{ synctrail.typed_nulls(['destination_type']) }},
    destination_id,
    destination_object_id,
    {{ synctrail.typed_nulls(['declared_started_at'], 'timestamp') }},
    coalesce(source_id, source_object_id, destination_id, destination_object_id) is not null as has_metadata,
    {{ synctrail.no_given_run_columns() }}
from runs
