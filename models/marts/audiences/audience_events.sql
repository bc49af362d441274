with spells as (

    select * from {{ ref('int_audience_spells') }}
    where not _is_deleted

),

syncs as (

    select * from {{ ref('int_syncs') }}

),

events as (

    select
        sync_key,
        source_system,
        sync_id,
        record_identifier,
        spell_number,
        'entered' as event_type,
        entered_at as event_at,
        entered_run_id as sync_run_id,
        entered_status as status
    from spells
    where entry_observed

    union all

    select
        sync_key,
        source_system,
        sync_id,
        record_identifier,
        spell_number,
        'exited' as event_type,
        exited_at as event_at,
        exited_run_id as sync_run_id,
        exited_status as status
    from spells
    where not is_current

)

select
    events.source_system,
    events.sync_id,
    syncs.audience_name,
    syncs.audience_type,
    events.record_identifier,
    events.spell_number,
    events.event_type,
    events.event_at,
    events.sync_run_id,
    events.status
from events
inner join syncs on events.sync_key = syncs.sync_key
