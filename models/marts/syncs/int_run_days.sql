{{ config(**synctrail.incremental_config('run_day_key', cluster_by='run_key')) }}

{%- set run_order = ref('int_run_order') -%}
{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_changelog'), '_build_id > ' ~ last_build_id),
    (run_order, '_order_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- set columns = [
    'run_day_key', 'run_key', 'activity_date', 'n_attempts', 'n_succeeded', 'n_rejected', 'n_invalid', 'n_added',
    'n_changed', 'n_removed', 'n_inferred_removals', 'n_members_attempted', 'n_members_gained', 'n_members_lost'
] %}

with runs as (

    select * from {{ run_order }}

),

{% if is_incremental_build -%}
{# A run whose start has changed may have attempts that take their date from it. -#}
touched_runs as (

    select run_key from {{ ref('int_sync_changelog') }} as changelog
    where _build_id > {{ last_build_id }}

    {{ synctrail.union_distinct() }}

    select run_key from {{ run_order }}
    where _order_build_id > {{ last_build_id }}

),

{% endif -%}
changes as (

    select
        changelog.run_key,
        {{ synctrail.utc_date(
            'coalesce(changelog.batch_started_at, runs.started_at, changelog._census_logged_at)'
        ) }} as activity_date,
        changelog.status,
        changelog.op_type,
        changelog.is_inferred,
        changelog.is_final_attempt and changelog.was_member as is_of_member,
        case
            when not changelog.is_final_attempt or changelog.status <> 'succeeded' then 0
            when changelog.operation_kind = 'upsert' and not changelog.was_member then 1
            when changelog.operation_kind = 'removal' and changelog.was_member then -1
            else 0
        end as membership_change
    from {{ ref('int_sync_changelog') }} as changelog
    inner join runs on changelog.run_key = runs.run_key
    {%- if is_incremental_build %}
    inner join touched_runs on changelog.run_key = touched_runs.run_key
    {%- endif %}
    where
        not changelog._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
        {%- endif %}

),

run_days as (

    select
        run_key,
        activity_date,
        {%- for name, condition in [
            ('n_attempts', 'not is_inferred'),
            ('n_succeeded', "not is_inferred and status = 'succeeded'"),
            ('n_rejected', "status = 'rejected'"),
            ('n_invalid', "status = 'invalid'"),
            ('n_added', "op_type = 'added'"),
            ('n_changed', "op_type = 'changed'"),
            ('n_removed', "not is_inferred and op_type = 'removed'"),
            ('n_inferred_removals', 'is_inferred'),
            ('n_members_attempted', 'not is_inferred and is_of_member'),
            ('n_members_gained', 'membership_change = 1'),
            ('n_members_lost', 'membership_change = -1')
        ] %}
        cast(sum(case when {{ condition }} then 1 else 0 end) as {{ dbt.type_bigint() }}) as {{ name }}
        {%- if not loop.last %},{% endif %}
        {%- endfor %}
    from changes
    group by run_key, activity_date

),

keyed_run_days as (

    select
        *,
        {{ synctrail.hash_key([
            'run_key', "coalesce(cast(activity_date as " ~ dbt.type_string() ~ "), 'undated')"
        ]) }} as run_day_key
    from run_days

)

{{ synctrail.rows_and_tombstones('keyed_run_days', 'run_day_key', columns,
    'inner join touched_runs on stored.run_key = touched_runs.run_key where 1 = 1'
) }}
