{{ config(enabled=synctrail.reads_source('census_lake')) }}

with destinations as (
    {{ synctrail.source_rows(
        'census_lake', 'destinations',
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
from destinations
