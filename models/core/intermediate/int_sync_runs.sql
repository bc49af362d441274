{{ config(**synctrail.incremental_config('run_key', keeps_source_rows=true)) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_log'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{# What runs declare may have changed in any sync. -#}
{%- do synctrail.search_merged_rows(none) -%}
{%- set identity = ['source_system', 'sync_id', 'sync_run_id', 'sync_key'] -%}
{%- set declared = [
    'workspace_id', 'source_type', 'source_id', 'source_object_id', 'destination_type', 'destination_id',
    'destination_object_id', 'declared_started_at'
] -%}
{%- do declared.extend(synctrail.given_run_columns()) -%}
{%- set logged = [
    'first_batch_started_at', 'finished_at', 'n_attempts', 'n_unparseable_payloads', 'is_mirror_run', 'has_mirror_operations',
    'has_append_operations'
] -%}
{%- set compared = ['org_id', 'has_metadata', 'started_at'] + declared + logged -%}
{%- set declared_columns = ['run_key'] + identity + ['org_id', 'has_metadata'] + declared %}

with staged_runs as (
    {{ synctrail.union_sources(
        'runs', ['source_system', 'org_id', 'sync_id', 'sync_run_id', 'has_metadata'] + declared
    ) }}
),

keyed_runs as (

    select
        *,
        {{ synctrail.run_key() }} as run_key,
        {{ synctrail.sync_key() }} as sync_key
    from staged_runs

),

declared_runs as (

    select {{ declared_columns | join(', ') }}
    from (
        select
            *,
            row_number() over (
                partition by run_key
                order by
                    case when has_metadata then 0 else 1 end,
                    case when given_finished_at is null then 1 else 0 end,
                    given_finished_at desc,
                    org_id
            ) as place
        from keyed_runs
    ) as ranked
    where place = 1
    {%- if is_incremental_build %}

    union all

    {# Staging holds no row of this run any longer: what its metadata said stays. -#}
    select {{ synctrail.stored_columns(declared_columns) }}
    from {{ this }} as stored
    left join keyed_runs on stored.run_key = keyed_runs.run_key
    where stored.has_metadata and keyed_runs.run_key is null
    {%- endif %}

),

{% if is_incremental_build -%}
touched_runs as (

    select distinct run_key from {{ ref('int_sync_log') }}
    where _build_id > {{ last_build_id }}

),

{% endif -%}
logged_runs as (

    select
        attempts.run_key,
        {%- for column in identity + ['org_id'] %}
        max(attempts.{{ column }}) as {{ column }},
        {%- endfor %}
        min(attempts.batch_started_at) as first_batch_started_at,
        max(attempts.batch_completed_at) as finished_at,
        cast(count(*) as {{ dbt.type_bigint() }}) as n_attempts,
        cast(sum(case when not attempts.is_object_payload then 1 else 0 end) as {{ dbt.type_bigint() }})
            as n_unparseable_payloads,
        max(case when attempts.operation = 'mirror' and attempts.status = 'succeeded' then 1 else 0 end) = 1
            as is_mirror_run,
        max(case when attempts.operation = 'mirror' then 1 else 0 end) = 1 as has_mirror_operations,
        max(case when attempts.operation = 'append' then 1 else 0 end) = 1 as has_append_operations
    from {{ ref('int_sync_log') }} as attempts
    {%- if is_incremental_build %}
    inner join touched_runs on attempts.run_key = touched_runs.run_key
    {%- endif %}
    where
        not attempts._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('attempts', touched_syncs) }}
        {%- endif %}
    group by attempts.run_key
    {%- if is_incremental_build %}

    union all

    select {{ synctrail.stored_columns(['run_key'] + identity + ['org_id'] + logged) }}
    from {{ this }} as stored
    left join touched_runs on stored.run_key = touched_runs.run_key
    where touched_runs.run_key is null and stored.n_attempts > 0
    {%- endif %}

),

current_runs as (

    select
        coalesce(declared_runs.run_key, logged_runs.run_key) as run_key,
        {%- for column in identity + ['org_id'] %}
        coalesce(declared_runs.{{ column }}, logged_runs.{{ column }}) as {{ column }},
        {%- endfor %}
        {%- for column in declared %}
        declared_runs.{{ column }},
        {%- endfor %}
        coalesce(declared_runs.has_metadata, false) as has_metadata,
        coalesce(declared_runs.declared_started_at, logged_runs.first_batch_started_at) as started_at,
        logged_runs.first_batch_started_at,
        logged_runs.finished_at,
        coalesce(logged_runs.n_attempts, 0) as n_attempts,
        coalesce(logged_runs.n_unparseable_payloads, 0) as n_unparseable_payloads,
        coalesce(logged_runs.is_mirror_run, false) as is_mirror_run,
        coalesce(logged_runs.has_mirror_operations, false) as has_mirror_operations,
        coalesce(logged_runs.has_append_operations, false) as has_append_operations
    from declared_runs
    full outer join logged_runs on declared_runs.run_key = logged_runs.run_key

)

select
    {{ synctrail.prefixed('current_runs', ['run_key'] + identity + compared) }},
    {%- if is_incremental_build %}
    case
        when stored.run_key is not null
            and not {{ synctrail.rows_differ('current_runs', 'stored', ['started_at', 'is_mirror_run']) }}
            then stored._order_build_id
        else {{ synctrail.build_id() }}
    end as _order_build_id,
    {%- else %}
    {{ synctrail.build_id() }} as _order_build_id,
    {%- endif %}
    {{ synctrail.build_id() }} as _build_id
from current_runs
{%- if is_incremental_build %}
left join {{ this }} as stored on current_runs.run_key = stored.run_key
{%- if not synctrail.absent_columns(compared) %}
where stored.run_key is null
    or {{ synctrail.rows_differ('current_runs', 'stored', compared) }}
{%- endif %}
{%- endif %}
