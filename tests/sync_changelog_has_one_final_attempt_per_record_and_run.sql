select
    source_system,
    sync_id,
    sync_run_id,
    row_id,
    sum(case when is_final_attempt then 1 else 0 end) as n_final_attempts
from {{ ref('sync_changelog') }}
group by source_system, sync_id, sync_run_id, row_id
having
    sum(case when is_final_attempt then 1 else 0 end)
    <> case when coalesce(row_id, '') = '' then 0 else 1 end
