{{ config(enabled=synctrail.reads_source('census_writeback')) }}

with destination_objects as (
    {{ synctrail.source_rows(
        'census_writeback', 'destination_objects',
        text=['id', 'type', 'name']
    ) }}
)

select
    'census_writeback' as source_system,
    _schema_label as org_id,
    id,
    type,
    name
from destination_objects
