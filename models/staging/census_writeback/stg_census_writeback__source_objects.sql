{{ config(enabled=synctrail.reads_source('census_writeback')) }}

with source_objects as (
    {{ synctrail.source_rows(
        'census_writeback', 'source_objects',
        text=['id', 'type', 'name', 'model_id', 'business_object_id', 'filter_segment_id', 'cohort_id']
    ) }}
)

select
    'census_writeback' as source_system,
    _schema_label as org_id,
    id,
    type,
    name,
    model_id,
    business_object_id,
    filter_segment_id,
    cohort_id
from source_objects
