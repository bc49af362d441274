with runs as (

    select * from {{ ref('int_sync_runs') }}

),

counts as (

    select * from {{ ref('int_run_counts') }}

),

source_objects as (

    select * from {{ ref('source_objects') }}

),

destinations as (

    select * from {{ ref('destinations') }}

)

select
    runs.sync_id,
    runs.sync_run_id,
    cast(null as {{ dbt.type_string() }}) as primary_key,
    {{ dbt.split_part('coalesce(runs.destination_type, destinations.type)', "'::'", 1) }} as destination,
    source_objects.name as model_name,
    runs.source_object_id as model_id,
    case
        when runs.n_attempts > 0
            and coalesce(counts.num_succeeded_add + counts.num_succeeded_change + counts.num_succeeded_remove, 0) = 0
            then 'failed'
        else 'succeeded'
    end as status,
    cast(null as {{ dbt.type_string() }}) as error,
    runs.started_at,
    runs.finished_at,
    coalesce(counts.num_planned_add, 0) as num_planned_add,
    coalesce(counts.num_planned_change, 0) as num_planned_change,
    coalesce(counts.num_planned_remove, 0) as num_planned_remove,
    coalesce(counts.num_attempted_add, 0) as num_attempted_add,
    coalesce(counts.num_attempted_change, 0) as num_attempted_change,
    coalesce(counts.num_attempted_remove, 0) as num_attempted_remove,
    coalesce(counts.num_succeeded_add, 0) as num_succeeded_add,
    coalesce(counts.num_succeeded_change, 0) as num_succeeded_change,
    coalesce(counts.num_succeeded_remove, 0) as num_succeeded_remove,
    coalesce(counts.num_failed_add, 0) as num_failed_add,
    coalesce(counts.num_failed_change, 0) as num_failed_change,
    coalesce(counts.num_failed_remove, 0) as num_failed_remove,
    runs.source_system,
    runs.org_id,
    runs.workspace_id,
    coalesce(counts.num_invalid, 0) as num_invalid,
    coalesce(counts.num_inferred_remove, 0) as num_inferred_remove,
    {{ synctrail.seconds_between('runs.started_at', 'runs.finished_at') }} as duration_seconds,
    runs.destination_id,
    runs.destination_object_id,
    runs.source_id,
    runs.source_object_id
from runs
left join counts on runs.run_key = counts.run_key
left join source_objects
    on runs.source_system = source_objects.source_system
    and coalesce(runs.org_id, '') = coalesce(source_objects.org_id, '')
    and runs.source_object_id = source_objects.id
left join destinations
    on runs.source_system = destinations.source_system
    and coalesce(runs.org_id, '') = coalesce(destinations.org_id, '')
    and runs.destination_id = destinations.id
