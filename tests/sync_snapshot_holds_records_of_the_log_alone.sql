with attempts as (

    select distinct
        source_system,
        sync_id,
        sync_run_id,
        record_identifier
    from {{ ref('sync_log') }}

)

select
    snapshot.source_system,
    snapshot.sync_id,
    snapshot.sync_run_id,
    snapshot.row_id
from {{ ref('sync_snapshot') }} as snapshot
left join attempts
    on snapshot.source_system = attempts.source_system
    and snapshot.sync_id = attempts.sync_id
    and snapshot.sync_run_id = attempts.sync_run_id
    and snapshot.row_id = attempts.record_identifier
where attempts.record_identifier is null
