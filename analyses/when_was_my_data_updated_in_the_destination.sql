select
    syncs.audience_name,
    syncs.destination,
    snapshot.row_id as record_identifier,
    max(log.occurred_at) as last_updated_in_destination_at
from {{ ref('sync_snapshot') }} as snapshot
inner join {{ ref('sync_health') }} as syncs
    on snapshot.source_system = syncs.source_system
    and snapshot.sync_id = syncs.sync_id
inner join {{ ref('sync_log') }} as log
    on snapshot.source_system = log.source_system
    and snapshot.sync_id = log.sync_id
    and snapshot.row_id = log.record_identifier
where log.status = 'succeeded' and snapshot.in_destination
group by syncs.audience_name, syncs.destination, snapshot.row_id
order by last_updated_in_destination_at
