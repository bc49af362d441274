{{ config(**synctrail.incremental_config('sync_field_key')) }}

{%- set run_order = ref('int_run_order') -%}
{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_field_changes'), '_build_id > ' ~ last_build_id),
    (run_order, '_order_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{%- set columns = [
    'sync_field_key', 'sync_key', 'source_system', 'sync_id', 'field_name', 'n_changes', 'n_records', 'n_runs',
    'n_sole_changes', 'share_of_updates', 'first_changed_at', 'last_changed_at', 'noise_hint'
] %}

with fields_by_run as (

    select
        changes.sync_key,
        changes.field_name,
        changes.run_key,
        max(changes.source_system) as source_system,
        max(changes.sync_id) as sync_id,
        count(*) as n_changes,
        sum(case when changes.n_fields_changed = 1 then 1 else 0 end) as n_sole_changes,
        sum(case when changes.is_first_field then 1 else 0 end) as n_first_fields,
        sum(case when changes.change_type = 'modified' then 1 else 0 end) as n_modified,
        sum(case when changes.is_timestamp_noise then 1 else 0 end) as n_timestamp_noise,
        sum(case when changes.is_text_noise then 1 else 0 end) as n_text_noise,
        sum(case when changes.is_number_noise then 1 else 0 end) as n_number_noise,
        min(coalesce(changes.batch_started_at, runs.started_at, changes._census_logged_at)) as first_changed_at,
        max(coalesce(changes.batch_started_at, runs.started_at, changes._census_logged_at)) as last_changed_at
    from {{ ref('int_field_changes') }} as changes
    left join {{ run_order }} as runs on changes.run_key = runs.run_key
    where
        not changes._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changes', touched_syncs) }}
        {%- endif %}
    group by changes.sync_key, changes.field_name, changes.run_key

),

{# Apart from the other counts: to tell records from each other is what costs. -#}
records as (

    select
        sync_key,
        field_name,
        count(distinct record_key) as n_records
    from {{ ref('int_field_changes') }} as changes
    where
        not _is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changes', touched_syncs) }}
        {%- endif %}
    group by sync_key, field_name

),

fields as (

    select
        sync_key,
        field_name,
        max(source_system) as source_system,
        max(sync_id) as sync_id,
        count(*) as n_runs,
        {%- for column in [
            'n_changes', 'n_sole_changes', 'n_first_fields', 'n_modified', 'n_timestamp_noise', 'n_text_noise',
            'n_number_noise'
        ] %}
        sum({{ column }}) as {{ column }},
        {%- endfor %}
        min(first_changed_at) as first_changed_at,
        max(last_changed_at) as last_changed_at
    from fields_by_run
    group by sync_key, field_name

),

syncs as (

    select
        sync_key,
        sum(n_first_fields) as n_updates
    from fields
    group by sync_key

),

field_counts as (

    select
        {{ synctrail.hash_key(['fields.sync_key', 'fields.field_name']) }} as sync_field_key,
        fields.sync_key,
        fields.source_system,
        fields.sync_id,
        fields.field_name,
        cast(fields.n_changes as {{ dbt.type_bigint() }}) as n_changes,
        cast(records.n_records as {{ dbt.type_bigint() }}) as n_records,
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
    inner join records on fields.sync_key = records.sync_key and fields.field_name = records.field_name
    inner join syncs on fields.sync_key = syncs.sync_key

)

{{ synctrail.rows_and_tombstones('field_counts', 'sync_field_key', columns,
    'where ' ~ synctrail.of_touched_syncs('stored', touched_syncs)
) }}
