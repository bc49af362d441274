{{ config(materialized='table') }}

with changes as (

    select * from {{ ref('int_field_changes') }}
    where not _is_deleted

),

runs as (

    select * from {{ ref('int_sync_runs') }}

),

dated_changes as (

    select
        changes.*,
        coalesce(changes.batch_started_at, runs.started_at, changes._census_logged_at) as changed_at
    from changes
    left join runs on changes.run_key = runs.run_key

),

fields as (

    select
        sync_key,
        field_name,
        max(source_system) as source_system,
        max(sync_id) as sync_id,
        count(*) as n_changes,
        count(distinct record_key) as n_records,
        count(distinct run_key) as n_runs,
        sum(case when n_fields_changed = 1 then 1 else 0 end) as n_sole_changes,
        sum(case when change_type = 'modified' then 1 else 0 end) as n_modified,
        sum(case when is_timestamp_noise then 1 else 0 end) as n_timestamp_noise,
        sum(case when is_text_noise then 1 else 0 end) as n_text_noise,
        sum(case when is_number_noise then 1 else 0 end) as n_number_noise,
        min(changed_at) as first_changed_at,
        max(changed_at) as last_changed_at
    from dated_changes
    group by sync_key, field_name

),

syncs as (

    select
        sync_key,
        count(distinct log_key) as n_updates
    from changes
    group by sync_key

)

select
    fields.source_system,
    fields.sync_id,
    fields.field_name,
    cast(fields.n_changes as {{ dbt.type_bigint() }}) as n_changes,
    cast(fields.n_records as {{ dbt.type_bigint() }}) as n_records,
    cast(fields.n_runs as {{ dbt.type_bigint() }}) as n_runs,
    cast(fields.n_sole_changes as {{ dbt.type_bigint() }}) as n_sole_changes,
    cast(fields.n_changes as {{ synctrail.type_double() }}) / syncs.n_updates as share_of_updates,
    fields.first_changed_at,
    fields.last_changed_at,
    case
        when fields.n_timestamp_noise >= 5 and fields.n_timestamp_noise * 10 >= fields.n_modified * 9
            then 'timestamp_granularity'
        when fields.n_text_noise >= 5 and fields.n_text_noise * 10 >= fields.n_modified * 9
            then 'whitespace_or_case'
        when fields.n_number_noise >= 5 and fields.n_number_noise * 10 >= fields.n_modified * 9
            then 'numeric_precision'
    end as noise_hint
from fields
inner join syncs on fields.sync_key = syncs.sync_key
