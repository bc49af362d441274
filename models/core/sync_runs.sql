{# A table, though small: many models join it, and engines that inline views would read all that it is made of for each. -#}
{{ config(**synctrail.table_config()) }}

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
    runs.given_primary_key as primary_key,
    coalesce(
        runs.given_destination,
        {{ dbt.split_part('coalesce(runs.destination_type, destinations.type)', "'::'", 1) }}
    ) as destination,
    coalesce(runs.given_model_name, source_objects.name) as model_name,
    runs.source_object_id as model_id,
    case
        when runs.given_status is not null then runs.given_status
        when runs.n_attempts > 0
            and coalesce(counts.num_succeeded_add + counts.num_succeeded_change + counts.num_succeeded_remove, 0) = 0
            then 'failed'
        else 'succeeded'
    end as status,
    runs.given_error as error,
    runs.started_at,
    coalesce(runs.given_finished_at, runs.finished_at) as finished_at,
    {%- for column in synctrail.given_run_counts() %}
    {%- set counted = column[6:] %}
    coalesce(runs.{{ column }}, counts.{{ counted }}, 0) as {{ counted }},
    {%- endfor %}
    runs.source_system,
    runs.org_id,
    runs.workspace_id,
    coalesce(counts.num_invalid, 0) as num_invalid,
    coalesce(counts.num_inferred_remove, 0) as num_inferred_remove,
    {{ synctrail.seconds_between('runs.started_at', 'coalesce(runs.given_finished_at, runs.finished_at)') }} as duration_seconds,
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
