{{ config(enabled=synctrail.reads_source('census_lake')) }}

with destination_objects as (
    {{ synctrail.source_rows(
        'census_lake', 'destination_objects',
        text=['org_id', 'id', 'type', 'name'],
        ids=['org_id']
    ) }}
)

select
    'census_lake' as source_system,
    org_id,
    id,
    type,
    name
from destination_objects
