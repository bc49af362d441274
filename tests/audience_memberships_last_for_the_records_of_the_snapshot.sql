with current_spells as (

    select
        source_system,
        sync_id,
        record_identifier
    from {{ ref('audience_memberships') }}
    where is_current

),

records as (

    select
        source_system,
        sync_id,
        row_id
    from {{ ref('sync_snapshot') }}

)

select
    current_spells.record_identifier as current_identifier,
    records.row_id as snapshot_identifier
from current_spells
full outer join records
    on current_spells.source_system = records.source_system
    and current_spells.sync_id = records.sync_id
    and current_spells.record_identifier = records.row_id
where current_spells.record_identifier is null or records.row_id is null
