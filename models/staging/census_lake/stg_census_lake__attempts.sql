{{ config(enabled=synctrail.reads_source('census_lake')) }}

with records as (
    {{ synctrail.source_rows(
        'census_lake', 'sync_tracking_records',
        text=[
            'log_id', 'org_id', 'sync_id', 'sync_run_id', 'record_identifier', 'record_payload', 'operation',
            'status', 'status_message', '_source_file', '_load_id'
        ],
        timestamps=['batch_started_at', 'batch_completed_at', '_file_modified_at'],
        numbers=['batch_number', '_source_row'],
        synonyms={'_file_modified_at': ['_source_file_modified_at']},
        ids=['log_id', 'org_id', 'sync_id', '_source_file']
    ) }}
)

select
    'census_lake' as source_system,
    log_id,
    org_id,
    sync_id,
    sync_run_id,
    record_identifier,
    record_payload,
    'source' as payload_kind,
    batch_started_at,
    batch_completed_at,
    _file_modified_at as _census_logged_at,
    lower(trim(operation)) as operation,
    {{ synctrail.typed_nulls(['given_op_type']) }},
    {{ synctrail.census_status('status') }} as status,
    {{ synctrail.census_invalid_reason('status') }} as invalid_reason,
    status_message,
    {{ synctrail.typed_nulls(['split_group']) }},
    batch_number,
    _source_file,
    _source_row,
    _load_id
from records
