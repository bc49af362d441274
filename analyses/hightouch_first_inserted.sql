select
  c.sync_id,
  c.row_id,
  min(r.started_at) as first_inserted_at
from {{ ref('sync_changelog') }} c
join {{ ref('sync_runs') }} r on c.sync_id = r.sync_id and c.sync_run_id = r.sync_run_id
where c.op_type = 'added' and c.status = 'succeeded'
group by c.sync_id, c.row_id
