with staged as (
    {{ synctrail.union_sources('destinations', [
        'id', 'type', 'name', 'source_system', 'org_id'
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
    source_system,
    org_id
from ranked
where place = 1
