with source_objects as (

    select * from {{ source('census_lake', 'source_objects') }}

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
