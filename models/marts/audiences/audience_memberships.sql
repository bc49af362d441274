with spells as (

    select * from {{ ref('int_audience_spells') }}
    where not _is_deleted

),

syncs as (

    select * from {{ ref('int_syncs') }}

)

select
    spells.source_system,
    spells.sync_id,
    syncs.audience_name,
    syncs.audience_type,
    syncs.destination,
    spells.record_identifier,
    spells.spell_number,
    spells.entered_at,
    spells.entered_run_id,
    spells.entry_observed,
    spells.exited_at,
    spells.exited_run_id,
    spells.is_current,
    spells.reached_destination_at,
    spells.left_destination_at
from spells
inner join syncs on spells.sync_key = syncs.sync_key
