with destinations as (

    select * from {{ source('census_lake', 'destinations') }}

)

select
    'census_lake' as source_system,
    org_id,
    id,
    type,
    name
from destinations
