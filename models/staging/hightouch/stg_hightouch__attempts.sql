{{ config(enabled=synctrail.reads_source('hightouch')) }}

with changelog as (
    {{ synctrail.source_rows(
        'hightouch', 'sync_changelog',
        text=['sync_id', 'sync_run_id', 'row_id', 'op_type', 'status', 'failure_reason', 'split_group'],
        payloads=['fields'],
        synonyms={'failure_reason': ['failed_reason']},
        ids=['sync_id']
    ) }}
),

identified as (
    {{ synctrail.with_row_ids(
        'changelog',
        ['sync_id', 'sync_run_id', 'row_id', 'op_type', 'status', 'failure_reason', 'fields', 'split_group'],
        ['_schema_number']
    ) }}
)

select
    'hightouch' as source_system,
    log_id,
    _schema_label as org_id,
    sync_id,
    sync_run_id,
    row_id as record_identifier,
    fields as record_payload,
    'source' as payload_kind,
    {{ synctrail.typed_nulls(['batch_started_at', 'batch_completed_at', '_census_logged_at'], 'timestamp') }},
    case lower(trim(op_type))
        when 'added' then 'create'
        when 'changed' then 'update'
        when 'removed' then 'delete'
        else lower(trim(op_type))
    end as operation,
    case when lower(trim(op_type)) in ('added', 'changed', 'removed') then lower(trim(op_type)) end as given_op_type,
    case lower(trim(status))
        when 'succeeded' then 'succeeded'
        when 'failed' then 'rejected'
        when 'aborted' then 'aborted'
        else 'unknown'
    end as status,
    {{ synctrail.typed_nulls(['invalid_reason']) }},
    failure_reason as status_message,
    split_group,
    {{ synctrail.typed_nulls(['batch_number'], 'number') }},
    {{ synctrail.typed_nulls(['_source_file']) }},
    {{ synctrail.typed_nulls(['_source_row'], 'number') }},
    {{ synctrail.typed_nulls(['_load_id']) }}
from identified
