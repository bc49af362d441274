{{ config(
    severity='warn',
    enabled=synctrail.reads_source('census_lake') and synctrail.reads_source('census_writeback')
) }}

select
    sync_id,
    min(started_at) as first_run_started_at,
    max(started_at) as last_run_started_at
from {{ ref('sync_runs') }}
where source_system in ('census_lake', 'census_writeback')
group by sync_id
having count(distinct source_system) > 1
