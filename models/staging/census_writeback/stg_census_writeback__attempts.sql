{{ config(enabled=synctrail.reads_source('census_writeback')) }}

with attempts as (
    {{ synctrail.source_rows(
        'census_writeback', 'sync_log',
        text=[
            'log_id', 'sync_id', 'sync_run_id', 'record_identifier', 'operation', 'status', 'status_message'
        ],
        timestamps=['batch_started_at', 'batch_completed_at', '_census_logged_at'],
        payloads=['record_payload'],
        ids=['log_id', 'sync_id']
    ) }}
)

select
    'census_writeback' as source_system,
    log_id,
    _schema_label as org_id,
    sync_id,
    sync_run_id,
    record_identifier,
    record_payload,
    'sent' as payload_kind,
    batch_started_at,
    batch_completed_at,
    _census_logged_at,
    lower(trim(operation)) as operation,
    {{ synctrail.typed_nulls(['given_op_type']) }},
    {{ synctrail.census_status('status') }} as status,
    {{ synctrail.census_invalid_reason('status') }} as invalid_reason,
    status_message,
    {{ synctrail.typed_nulls(['split_group']) }},
    {{ synctrail.typed_nulls(['batch_number'], 'number') }},
    {{ synctrail.typed_nulls(['_source_file']) }},
    {{ synctrail.typed_nulls(['_source_row'], 'number') }},
    {{ synctrail.typed_nulls(['_load_id']) }}
from attempts
