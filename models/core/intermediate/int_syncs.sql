{{ config(**synctrail.table_config()) }}

with runs as (

    select
        runs.*,
        run_order.run_number,
        run_order.is_latest_run
    from {{ ref('int_sync_runs') }} as runs
    inner join {{ ref('int_run_order') }} as run_order on runs.run_key = run_order.run_key

),

syncs as (

    select
        sync_key,
        max(has_mirror_operations) as has_mirror_operations,
        max(has_append_operations) as has_append_operations
    from (
        select
            sync_key,
            case when has_mirror_operations then 1 else 0 end as has_mirror_operations,
            case when has_append_operations then 1 else 0 end as has_append_operations
        from runs
    ) as flags
    group by sync_key

),

{# The latest run that has metadata says what the sync is; without any, the latest run. -#}
telling_runs as (

    select *
    from (
        select
            runs.*,
            row_number() over (
                partition by sync_key
                order by case when has_metadata then 0 else 1 end, run_number desc
            ) as place
        from runs
    ) as ranked
    where place = 1

),

source_objects as (

    select * from {{ ref('source_objects') }}

),

described as (

    select
        telling_runs.*,
        source_objects.name as source_object_name,
        {{ dbt.concat(["'::'", "coalesce(source_objects.type, telling_runs.source_type)"]) }} as source_object_type
    from telling_runs
    left join source_objects
        on telling_runs.source_system = source_objects.source_system
        and coalesce(telling_runs.org_id, '') = coalesce(source_objects.org_id, '')
        and telling_runs.source_object_id = source_objects.id

)

select
    described.sync_key,
    described.source_system,
    described.sync_id,
    described.org_id,
    described.workspace_id,
    coalesce(described.source_object_name, described.given_model_name, described.sync_id) as audience_name,
    {# The last part of a type such as DataWarehouse::FilterSegmentSource. -#}
    case
        when described.source_system in ('hightouch', 'rudderstack') then 'model'
        when described.source_object_type like '%::FilterSegmentSource' then 'segment'
        when described.source_object_type like '%::CohortSource' then 'cohort'
        when described.source_object_type like '%::Query' then 'model'
        when described.source_object_type like '%::BusinessObjectSource' then 'entity'
        when described.source_object_type like '%::Table' then 'table'
    end as audience_type,
    sync_runs.destination,
    described.source_id,
    described.source_object_id,
    described.destination_id,
    described.destination_object_id,
    syncs.has_mirror_operations = 1 as has_mirror_operations,
    syncs.has_append_operations = 1 as has_append_operations
from described
inner join syncs on described.sync_key = syncs.sync_key
left join {{ ref('sync_runs') }} as sync_runs
    on described.source_system = sync_runs.source_system
    and described.sync_id = sync_runs.sync_id
    and described.sync_run_id = sync_runs.sync_run_id
