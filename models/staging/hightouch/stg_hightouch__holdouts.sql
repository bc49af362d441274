{{ config(enabled=synctrail.reads_hightouch_audiences()) }}

with holdouts as (
    {{ synctrail.source_rows(
        'hightouch', 'audience_holdout',
        text=['sync_id', 'sync_run_id', 'model_id', 'row_id'],
        timestamps=['held_out_at'],
        payloads=['fields'],
        synonyms={'held_out_at': ['timestamp']},
        ids=['sync_id']
    ) }}
)

select
    'hightouch' as source_system,
    _schema_label as org_id,
    sync_id,
    sync_run_id,
    model_id,
    row_id,
    held_out_at,
    fields
from holdouts
