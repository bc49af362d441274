select
  failure_reason,
  count(*) as c
from {{ ref('sync_snapshot') }}
where failure_reason is not null
group by failure_reason
order by c desc
