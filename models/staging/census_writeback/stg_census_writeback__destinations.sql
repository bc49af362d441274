{{ config(enabled=synctrail.reads_source('census_writeback')) }}

with destinations as (
    {{ synctrail.source_rows(
        'census_writeback', 'destinations',
        text=['id', 'type', 'name']
    ) }}
)

select
    'census_writeback' as source_system,
    _schema_label as org_id,
    id,
    type,
    name
from destinations
