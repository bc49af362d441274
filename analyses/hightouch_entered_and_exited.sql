with details as (
  select
    model_name,
    row_id,
    op_type as type,
    r.started_at as timestamp,
    lag(op_type) over(partition by model_name, row_id order by r.started_at) as lag_type
  from {{ ref('sync_changelog') }} c
  join {{ ref('sync_runs') }} r on c.sync_id = r.sync_id
  where op_type != 'changed'
  order by model_name, row_id
)
select
  row_id as user_id,
  model_name as audience,
  type,
  timestamp
from details
where type != lag_type or lag_type is null
