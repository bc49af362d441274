with staged as (
    {{ synctrail.union_sources('source_objects', [
        'id', 'type', 'name', 'model_id', 'business_object_id', 'filter_segment_id', 'cohort_id', 'source_system', 'org_id'
    ]) }}
),

ranked as (

    select
        *,
        row_number() over (partition by source_system, org_id, id order by name, type) as place
    from staged

)

select
    id,
    type,
    name,
    model_id,
    business_object_id,
    filter_segment_id,
    cohort_id,
    source_system,
    org_id
from ranked
where place = 1
