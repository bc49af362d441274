{{ config(**synctrail.incremental_config('record_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_changelog'), '_build_id > ' ~ last_build_id),
    (ref('int_field_changes'), '_build_id > ' ~ last_build_id),
    (ref('int_audience_spells'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{%- set columns = [
    'record_key', 'sync_key', 'source_system', 'sync_id', 'record_identifier', 'first_added_at',
    'first_attempted_at', 'last_attempted_at', 'last_op_type', 'last_status', 'n_attempts', 'n_succeeded',
    'n_failed', 'n_changed_payloads', 'n_entries', 'n_exits'
] %}

with runs as (

    select * from {{ ref('int_run_order') }}

),

{% if is_incremental_build -%}
touched_records as (

    select record_key from {{ ref('int_sync_changelog') }} as changelog
    where _build_id > {{ last_build_id }} and record_key is not null

    {{ synctrail.union_distinct() }}

    select record_key from {{ ref('int_field_changes') }} as field_changes
    where _build_id > {{ last_build_id }}

    {{ synctrail.union_distinct() }}

    select record_key from {{ ref('int_audience_spells') }} as spells
    where _build_id > {{ last_build_id }}

),

{% endif -%}
attempts as (

    select
        changelog.record_key,
        changelog.op_type,
        changelog.status,
        changelog.is_final_attempt,
        runs.run_number,
        coalesce(changelog.batch_started_at, runs.started_at, changelog._census_logged_at) as occurred_at
    from {{ ref('int_sync_changelog') }} as changelog
    inner join runs on changelog.run_key = runs.run_key
    {%- if is_incremental_build %}
    inner join touched_records on changelog.record_key = touched_records.record_key
    {%- endif %}
    where
        changelog.record_key is not null
        and not changelog.is_inferred
        and not changelog._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}

),

attempts_by_record as (

    select
        record_key,
        min(case when op_type = 'added' and status = 'succeeded' then occurred_at end) as first_added_at,
        min(occurred_at) as first_attempted_at,
        max(occurred_at) as last_attempted_at,
        max(run_number) as last_run_number,
        count(*) as n_attempts,
        sum(case when status = 'succeeded' then 1 else 0 end) as n_succeeded,
        sum(case when status in ('rejected', 'invalid') then 1 else 0 end) as n_failed
    from attempts
    group by record_key

),

field_changes_by_record as (

    select
        field_changes.record_key,
        count(*) as n_changed_payloads
    from {{ ref('int_field_changes') }} as field_changes
    {%- if is_incremental_build %}
    inner join touched_records on field_changes.record_key = touched_records.record_key
    {%- endif %}
    where
        field_changes.is_first_field
        and not field_changes._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('field_changes', touched_syncs) }}
        {%- endif %}
    group by field_changes.record_key

),

spells_by_record as (

    select
        spells.record_key,
        sum(case when spells.entry_observed then 1 else 0 end) as n_entries,
        sum(case when spells.is_current then 0 else 1 end) as n_exits
    from {{ ref('int_audience_spells') }} as spells
    {%- if is_incremental_build %}
    inner join touched_records on spells.record_key = touched_records.record_key
    {%- endif %}
    where
        not spells._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('spells', touched_syncs) }}
        {%- endif %}
    group by spells.record_key

),

activity as (

    select
        attempts_by_record.record_key,
        last_attempts.sync_key,
        last_attempts.source_system,
        last_attempts.sync_id,
        last_attempts.row_id as record_identifier,
        attempts_by_record.first_added_at,
        attempts_by_record.first_attempted_at,
        attempts_by_record.last_attempted_at,
        last_attempts.op_type as last_op_type,
        last_attempts.status as last_status,
        {%- for column in ['n_attempts', 'n_succeeded', 'n_failed'] %}
        cast(attempts_by_record.{{ column }} as {{ dbt.type_bigint() }}) as {{ column }},
        {%- endfor %}
        cast(coalesce(field_changes_by_record.n_changed_payloads, 0) as {{ dbt.type_bigint() }})
            as n_changed_payloads,
        cast(coalesce(spells_by_record.n_entries, 0) as {{ dbt.type_bigint() }}) as n_entries,
        cast(coalesce(spells_by_record.n_exits, 0) as {{ dbt.type_bigint() }}) as n_exits
    from attempts_by_record
    inner join {{ ref('int_sync_changelog') }} as last_attempts
        on attempts_by_record.record_key = last_attempts.record_key
    inner join runs
        on last_attempts.run_key = runs.run_key
        and attempts_by_record.last_run_number = runs.run_number
    left join field_changes_by_record on attempts_by_record.record_key = field_changes_by_record.record_key
    left join spells_by_record on attempts_by_record.record_key = spells_by_record.record_key
    where
        last_attempts.is_final_attempt
        and not last_attempts._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('last_attempts', touched_syncs) }}
        {%- endif %}

)

{{ synctrail.rows_and_tombstones('activity', 'record_key', columns,
    'inner join touched_records on stored.record_key = touched_records.record_key where '
    ~ synctrail.of_touched_syncs('stored', touched_syncs)
) }}
