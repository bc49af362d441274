{{ config(**synctrail.incremental_config('spell_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_changelog'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{%- set columns = [
    'spell_key', 'record_key', 'sync_key', 'source_system', 'sync_id', 'record_identifier', 'spell_number',
    'entered_at', 'entered_run_id', 'entered_status', 'entry_observed', 'exited_at', 'exited_run_id',
    'exited_status', 'is_current', 'reached_destination_at', 'left_destination_at'
] %}

with runs as (

    select * from {{ ref('int_run_order') }}

),

{% if is_incremental_build -%}
touched_records as (

    select distinct record_key from {{ ref('int_sync_changelog') }} as changelog
    where _build_id > {{ last_build_id }} and record_key is not null

),

{% endif -%}
settled_attempts as (

    select
        changelog.record_key,
        changelog.sync_run_id,
        changelog.operation_kind,
        changelog.op_type,
        changelog.status,
        coalesce(changelog.batch_started_at, runs.started_at, changelog._census_logged_at) as occurred_at,
        runs.run_number,
        lag(changelog.operation_kind) over (
            partition by changelog.record_key order by runs.run_number
        ) as previous_operation_kind
    from {{ ref('int_sync_changelog') }} as changelog
    inner join runs on changelog.run_key = runs.run_key
    {%- if is_incremental_build %}
    inner join touched_records on changelog.record_key = touched_records.record_key
    {%- endif %}
    where
        not changelog._is_deleted
        and changelog.is_final_attempt
        and changelog.operation_kind <> 'append'
        and changelog.status in ('succeeded', 'rejected', 'aborted')
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}

),

{# A spell holds the upserts from its entry on, then the removals up to the next entry. -#}
numbered_attempts as (

    select
        *,
        sum(
            case
                when previous_operation_kind is null then 1
                when operation_kind = 'upsert' and previous_operation_kind = 'removal' then 1
                else 0
            end
        ) over (
            partition by record_key order by run_number rows between unbounded preceding and current row
        ) as spell_number
    from settled_attempts

),

{# A first op_type `changed` is the vendor's own: a derived one needs an earlier upsert. -#}
milestones as (

    select
        record_key,
        spell_number,
        sync_run_id,
        status,
        occurred_at,
        operation_kind = 'upsert' and coalesce(
            previous_operation_kind = 'removal', op_type <> 'changed'
        ) as is_entry,
        operation_kind = 'removal' and coalesce(previous_operation_kind = 'upsert', true) as is_exit,
        operation_kind = 'upsert' and status = 'succeeded' and place_of_status = 1 as is_arrival,
        operation_kind = 'removal' and status = 'succeeded' and place_of_status = 1 as is_departure
    from (
        select
            *,
            row_number() over (
                partition by record_key, spell_number, operation_kind, status order by run_number
            ) as place_of_status
        from numbered_attempts
    ) as placed_attempts

),

spells as (

    select
        record_key,
        cast(spell_number as {{ dbt.type_bigint() }}) as spell_number,
        max(case when is_entry then occurred_at end) as entered_at,
        max(case when is_entry then sync_run_id end) as entered_run_id,
        max(case when is_entry then status end) as entered_status,
        max(case when is_entry then 1 else 0 end) = 1 as entry_observed,
        max(case when is_exit then occurred_at end) as exited_at,
        max(case when is_exit then sync_run_id end) as exited_run_id,
        max(case when is_exit then status end) as exited_status,
        max(case when is_exit then 1 else 0 end) = 0 as is_current,
        max(case when is_arrival then occurred_at end) as reached_destination_at,
        max(case when is_departure then occurred_at end) as left_destination_at
    from milestones
    group by record_key, spell_number

),

identified_spells as (

    select
        {{ synctrail.hash_key([
            'spells.record_key', 'cast(spells.spell_number as ' ~ dbt.type_string() ~ ')'
        ]) }} as spell_key,
        records.sync_key,
        records.source_system,
        records.sync_id,
        records.row_id as record_identifier,
        spells.*
    from spells
    inner join {{ ref('int_sync_records') }} as records on spells.record_key = records.record_key

)

{{ synctrail.rows_and_tombstones('identified_spells', 'spell_key', columns,
    'inner join touched_records on stored.record_key = touched_records.record_key where '
    ~ synctrail.of_touched_syncs('stored', touched_syncs)
) }}
