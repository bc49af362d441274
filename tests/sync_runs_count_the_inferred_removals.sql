with inferred as (

    select
        source_system,
        sync_id,
        sync_run_id,
        count(*) as n_removals
    from {{ ref('sync_changelog') }}
    where is_inferred
    group by source_system, sync_id, sync_run_id

)

select
    runs.source_system,
    runs.sync_id,
    runs.sync_run_id,
    runs.num_inferred_remove,
    inferred.n_removals
from {{ ref('sync_runs') }} as runs
left join inferred
    on runs.source_system = inferred.source_system
    and runs.sync_id = inferred.sync_id
    and runs.sync_run_id = inferred.sync_run_id
where runs.num_inferred_remove <> coalesce(inferred.n_removals, 0)
