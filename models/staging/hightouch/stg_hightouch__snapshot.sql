{{ config(enabled=synctrail.reads_source('hightouch')) }}

with records as (
    {{ synctrail.source_rows(
        'hightouch', 'sync_snapshot',
        text=['sync_id', 'sync_run_id', 'row_id', 'op_type', 'status', 'failure_reason', 'split_group'],
        payloads=['fields'],
        synonyms={'failure_reason': ['failed_reason']},
        ids=['sync_id']
    ) }}
)

select
    'hightouch' as source_system,
    _schema_label as org_id,
    sync_id,
    sync_run_id,
    row_id,
    lower(trim(op_type)) as op_type,
    lower(trim(status)) as status,
    failure_reason,
    fields,
    split_group
from records
