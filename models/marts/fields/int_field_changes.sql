{{ config(**synctrail.incremental_config('field_change_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_record_updates'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{%- set changelog = ref('int_sync_changelog') -%}
{%- set columns = [
    'field_change_key', 'log_key', 'record_key', 'run_key', 'sync_key', 'source_system', 'sync_id',
    'sync_run_id', 'previous_run_id', 'record_identifier', 'field_name', 'change_type', 'old_value', 'new_value',
    'n_fields_changed', 'is_first_field', 'is_timestamp_noise', 'is_text_noise', 'is_number_noise', 'batch_started_at',
    '_census_logged_at'
] %}

with updates as (

    select * from {{ ref('int_record_updates') }}
    {%- if is_incremental_build %}
    where _build_id > {{ last_build_id }}
    {%- endif %}

),

{% if is_incremental_build -%}
{# What four joins are about, read once: few are the rows of a build that adds to the table. -#}
changes as (

    select
        changelog.log_key,
        changelog.record_key,
        changelog.run_key,
        changelog.sync_key,
        changelog.source_system,
        changelog.sync_id,
        changelog.sync_run_id,
        changelog.row_id,
        changelog.fields,
        changelog.is_object_payload,
        changelog.batch_started_at,
        changelog._census_logged_at
    from {{ changelog }} as changelog
    inner join (
        select log_key from updates
        {{ synctrail.union_distinct() }}
        select previous_log_key from updates
    ) as wanted
        on changelog.log_key = wanted.log_key
    where {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}

),

{% set changelog = 'changes' -%}
{% endif -%}
{# Most that a full sync sends again has not changed by a byte. -#}
payload_pairs as (

    select
        updates.log_key,
        previous.fields as old_payload,
        latest.fields as new_payload
    from updates
    inner join {{ changelog }} as latest on updates.log_key = latest.log_key
    inner join {{ changelog }} as previous on updates.previous_log_key = previous.log_key
    where
        not updates._is_deleted
        and previous.is_object_payload
        and latest.is_object_payload
        and previous.fields <> latest.fields

),

changed_fields as (
    {{ synctrail.changed_json_fields('payload_pairs', 'log_key', 'old_payload', 'new_payload') }}
),

counted_fields as (

    select
        *,
        count(*) over (partition by log_key) as n_fields_changed,
        row_number() over (partition by log_key order by field_name) = 1 as is_first_field
    from changed_fields

),

field_changes as (

    select
        {{ synctrail.hash_key(['latest.record_key', 'latest.run_key', 'counted_fields.field_name']) }}
            as field_change_key,
        latest.log_key,
        latest.record_key,
        latest.run_key,
        latest.sync_key,
        latest.source_system,
        latest.sync_id,
        latest.sync_run_id,
        previous.sync_run_id as previous_run_id,
        latest.row_id as record_identifier,
        counted_fields.field_name,
        counted_fields.change_type,
        counted_fields.old_value,
        counted_fields.new_value,
        cast(counted_fields.n_fields_changed as {{ dbt.type_bigint() }}) as n_fields_changed,
        counted_fields.is_first_field,
        {{ synctrail.differs_within_a_date('old_value', 'new_value') }} as is_timestamp_noise,
        coalesce({{ synctrail.differs_in_case_or_space('old_value', 'new_value') }}, false) as is_text_noise,
        {{ synctrail.differs_in_precision('old_value', 'new_value', 'old_json', 'new_json') }}
            as is_number_noise,
        latest.batch_started_at,
        latest._census_logged_at
    from counted_fields
    inner join updates on counted_fields.log_key = updates.log_key
    inner join {{ changelog }} as latest on updates.log_key = latest.log_key
    inner join {{ changelog }} as previous on updates.previous_log_key = previous.log_key

)

{{ synctrail.rows_and_tombstones('field_changes', 'field_change_key', columns,
    'inner join updates on stored.log_key = updates.log_key where '
    ~ synctrail.of_touched_syncs('stored', touched_syncs)
) }}
