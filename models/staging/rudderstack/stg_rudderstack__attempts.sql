{{ config(enabled=synctrail.reads_source('rudderstack')) }}

with sync_log as (
    {{ synctrail.source_rows(
        'rudderstack', 'sync_log',
        text=['connection_id', 'sync_run_id', 'primary_key', 'operation', 'status', 'error_reason'],
        timestamps=['sync_started_at', 'sync_finished_at'],
        synonyms={
            'connection_id': ['sync_id'],
            'sync_run_id': ['run_id'],
            'primary_key': ['row_id', 'record_id'],
            'error_reason': ['error', 'failure_reason'],
            'sync_started_at': ['started_at'],
            'sync_finished_at': ['finished_at']
        },
        ids=['connection_id']
    ) }}
),

identified as (
    {{ synctrail.with_row_ids(
        'sync_log',
        ['connection_id', 'sync_run_id', 'primary_key', 'operation', 'status', 'error_reason'],
        ['_schema_number']
    ) }}
)

select
    'rudderstack' as source_system,
    log_id,
    _schema_label as org_id,
    connection_id as sync_id,
    sync_run_id,
    primary_key as record_identifier,
    {{ synctrail.typed_nulls(['record_payload', 'payload_kind']) }},
    sync_started_at as batch_started_at,
    sync_finished_at as batch_completed_at,
    {{ synctrail.typed_nulls(['_census_logged_at'], 'timestamp') }},
    lower(trim(operation)) as operation,
    case lower(trim(operation))
        when 'insert' then 'added'
        when 'update' then 'changed'
        when 'delete' then 'removed'
    end as given_op_type,
    case lower(trim(status))
        when 'succeeded' then 'succeeded'
        when 'failed' then 'rejected'
        else 'unknown'
    end as status,
    {{ synctrail.typed_nulls(['invalid_reason']) }},
    error_reason as status_message,
    {{ synctrail.typed_nulls(['split_group']) }},
    {{ synctrail.typed_nulls(['batch_number'], 'number') }},
    {{ synctrail.typed_nulls(['_source_file']) }},
    {{ synctrail.typed_nulls(['_source_row'], 'number') }},
    {{ synctrail.typed_nulls(['_load_id']) }}
from identified
