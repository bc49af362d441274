{{ config(enabled=synctrail.reads_hightouch_audiences()) }}

with memberships as (
    {{ synctrail.source_rows(
        'hightouch_planner', 'audience_membership',
        text=['ht_audience_id', 'ht_row_id', 'ht_event_type', 'ht_split_group'],
        timestamps=['ht_timestamp']
    ) }}
)

select
    'hightouch' as source_system,
    _schema_label as org_id,
    ht_audience_id as audience_id,
    ht_row_id as row_id,
    lower(trim(ht_event_type)) as event_type,
    ht_timestamp as event_at,
    ht_split_group as split_group
from memberships
