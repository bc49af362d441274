{{ config(enabled=synctrail.reads_source('census_lake')) }}

with source_objects as (
    {{ synctrail.source_rows(
        'census_lake', 'source_objects',
        text=['org_id', 'id', 'type', 'name', 'model_id', 'business_object_id', 'filter_segment_id', 'cohort_id'],
        ids=['org_id']
    ) }}
)

select
    'census_lake' as source_system,
    org_id,
    id,
    type,
    name,
    model_id,
    business_object_id,
    filter_segment_id,
    cohort_id
from source_objects
