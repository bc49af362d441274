with destination_objects as (

    select * from {{ source('census_lake', 'destination_objects') }}

)

select
    'census_lake' as source_system,
    org_id,
    id,
    type,
    name
from destination_objects
