{{ config(**synctrail.incremental_config('log_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set run_order = ref('int_run_order') -%}
{%- set runs = ref('int_sync_runs') -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_log'), '_build_id > ' ~ last_build_id),
    (run_order, '_order_build_id > ' ~ last_build_id)
]) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) -%}
{# Runs that this table knows at another place or start; what a new run attempted is new itself. -#}
{%- set reordered_runs = synctrail.literals(
    'select run_order.run_key from ' ~ run_order ~ ' as run_order'
    ~ ' inner join (select distinct run_key from ' ~ this ~ ' as stored where '
    ~ synctrail.of_touched_syncs('stored', touched_syncs) ~ ') as known on run_order.run_key = known.run_key'
    ~ ' where run_order._order_build_id > ' ~ last_build_id,
    at_most=200
) if is_incremental_build -%}
{# A run of a mirror sync can remove any record of it. One that is no mirror's any longer is known by whom it removed. -#}
{%- set reordered_mirror_syncs = synctrail.literals(
    'select run_order.sync_key from ' ~ run_order ~ ' as run_order'
    ~ ' where run_order._order_build_id > ' ~ last_build_id ~ ' and run_order.sync_key in ('
    ~ 'select runs.sync_key from ' ~ runs ~ ' as runs where runs.has_mirror_operations'
    ~ ' union all select stored.sync_key from ' ~ this ~ ' as stored'
    ~ ' where stored.is_inferred and not stored._is_deleted and '
    ~ synctrail.of_touched_syncs('stored', touched_syncs) ~ ')',
    at_most=200
) if is_incremental_build -%}
{# Else nothing is inferred: what was, of runs that are no longer a mirror's, turns into tombstones. -#}
{%- set has_mirror_runs = not is_incremental_build or synctrail.has_rows(
    'select 1 as one from ' ~ run_order ~ ' as run_order where next_mirror_run_number is not null and '
    ~ synctrail.of_touched_syncs('run_order', touched_syncs)
) -%}
{%- set is_touched -%}
    sync_log._build_id > {{ last_build_id }} or {{ synctrail.among('sync_log.run_key', reordered_runs) }}
{%- endset -%}
{%- set columns = [
    'log_key', 'record_key', 'run_key', 'sync_key', 'source_system', 'log_id', 'sync_id', 'sync_run_id', 'row_id',
    'op_type', 'status', 'failure_reason', 'fields', 'is_object_payload', 'payload_kind', 'split_group', 'operation', 'operation_kind',
    'invalid_reason', 'batch_started_at', '_census_logged_at', 'is_final_attempt', 'is_inferred',
    'was_member'
] %}

with {% if is_incremental_build -%}
touched_records as (

    select distinct record_key from {{ ref('int_sync_log') }} as sync_log
    where record_key is not null
        and {{ synctrail.of_touched_syncs('sync_log', touched_syncs) }}
        and (
            {{ is_touched }}
            or {{ synctrail.among('sync_log.sync_key', reordered_mirror_syncs) }}
        )

),

{% endif -%}
attempts as (

    select
        sync_log.log_key,
        sync_log.record_key,
        sync_log.run_key,
        sync_log.operation_kind,
        sync_log.given_op_type,
        sync_log.status,
        {%- if is_incremental_build %}
        {{ is_touched }} as is_touched,
        {%- endif %}
        run_order.run_number,
        run_order.next_mirror_run_number
    from {{ ref('int_sync_log') }} as sync_log
    left join {{ run_order }} as run_order on sync_log.run_key = run_order.run_key
    {%- if is_incremental_build %}
    inner join touched_records on sync_log.record_key = touched_records.record_key
    {%- endif %}
    where
        not sync_log._is_deleted
        and sync_log.record_key is not null
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('sync_log', touched_syncs) }}
        {%- endif %}

),

{# Few attempts are retried in their run: those alone are put in order. -#}
retried_attempts as (

    select
        sync_log.log_key,
        row_number() over (
            partition by sync_log.record_key, sync_log.run_key
            order by
                case when sync_log.status in ('succeeded', 'rejected') then 1 else 0 end desc,
                {%- for column in ['batch_started_at', 'batch_completed_at', 'batch_number', '_source_file', '_source_row'] %}
                case when sync_log.{{ column }} is null then 0 else 1 end desc,
                sync_log.{{ column }} desc,
                {%- endfor %}
                sync_log.log_id desc
        ) as place_from_last
    from {{ ref('int_sync_log') }} as sync_log
    inner join (
        select
            record_key,
            run_key
        from attempts
        group by record_key, run_key
        having count(*) > 1
    ) as retried
        on sync_log.record_key = retried.record_key and sync_log.run_key = retried.run_key
    where
        not sync_log._is_deleted
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('sync_log', touched_syncs) }}
        {%- endif %}

),

ordered_attempts as (

    select
        attempts.*,
        coalesce(retried_attempts.place_from_last, 1) = 1 as is_final_attempt
    from attempts
    left join retried_attempts on attempts.log_key = retried_attempts.log_key

),

{# One row a record and run: what the run's final attempt did to the membership, 1 in, 0 out, null nothing. -#}
final_attempts as (

    select
        log_key,
        record_key,
        run_key,
        run_number,
        next_mirror_run_number,
        case
            when status <> 'succeeded' then null
            when operation_kind = 'upsert' then 1
            when operation_kind = 'removal' then 0
        end as effect,
        lag(next_mirror_run_number) over (partition by record_key order by run_number) as mirror_run_number_since,
        lead(run_number) over (partition by record_key order by run_number) as next_run_number
    from ordered_attempts
    where is_final_attempt

),

{# A mirror run since the previous attempt has emptied the place of whatever the record was. -#}
effects as (

    select
        *,
        coalesce(mirror_run_number_since < run_number, false) as is_mirrored_out_before,
        run_number * 2 + coalesce(effect, case when mirror_run_number_since < run_number then 0 end) as effect_in_order
    from final_attempts

),

{# The latest effect is the greatest run_number * 2 + effect; its parity is the effect. -#}
memberships as (

    select
        log_key,
        record_key,
        run_key,
        next_mirror_run_number,
        next_run_number,
        case
            when is_mirrored_out_before then 0
            else mod(coalesce(max(effect_in_order) over (
                partition by record_key order by run_number rows between unbounded preceding and 1 preceding
            ), 0), 2)
        end = 1 as was_member,
        mod(coalesce(max(effect_in_order) over (
            partition by record_key order by run_number rows between unbounded preceding and current row
        ), 0), 2) = 1 as is_member
    from effects

),

{# What is worked out of a logged attempt, by keys alone: payloads are read for what changes. -#}
logged_effects as (

    select
        ordered_attempts.log_key,
        case
            when ordered_attempts.given_op_type is not null then ordered_attempts.given_op_type
            when ordered_attempts.operation_kind = 'removal' then 'removed'
            when ordered_attempts.operation_kind = 'append' or not memberships.was_member then 'added'
            else 'changed'
        end as op_type,
        ordered_attempts.is_final_attempt,
        ordered_attempts.operation_kind <> 'append' and memberships.was_member as was_member
        {%- if is_incremental_build %},
        ordered_attempts.is_touched
        {%- endif %}
    from ordered_attempts
    inner join memberships
        on ordered_attempts.record_key = memberships.record_key and ordered_attempts.run_key = memberships.run_key

    union all

    {# A row without identifier is of no record. -#}
    select
        log_key,
        coalesce(given_op_type, case when operation_kind = 'removal' then 'removed' else 'added' end) as op_type,
        false as is_final_attempt,
        case when operation_kind = 'append' then false end as was_member
        {%- if is_incremental_build %},
        true as is_touched
        {%- endif %}
    from {{ ref('int_sync_log') }}
    where not _is_deleted
        and record_key is null
        {%- if is_incremental_build %}
        and _build_id > {{ last_build_id }}
        {%- endif %}

),

{% if has_mirror_runs -%}
inferred_removals as (

    select
        memberships.record_key,
        mirror_runs.run_key,
        sync_log.sync_key,
        sync_log.source_system,
        sync_log.sync_id,
        mirror_runs.sync_run_id,
        sync_log.record_identifier as row_id,
        sync_log.payload_kind,
        sync_log.split_group,
        mirror_runs._order_build_id
    from memberships
    inner join {{ ref('int_sync_log') }} as sync_log on memberships.log_key = sync_log.log_key
    inner join {{ run_order }} as mirror_runs
        on sync_log.sync_key = mirror_runs.sync_key and memberships.next_mirror_run_number = mirror_runs.run_number
    where memberships.is_member
        and (
            memberships.next_run_number is null
            or memberships.next_mirror_run_number < memberships.next_run_number
        )

),

inferred_changes as (

    select
        {{ synctrail.hash_key(['record_key', 'run_key']) }} as log_key,
        record_key,
        run_key,
        sync_key,
        source_system,
        {{ synctrail.hash_key(['record_key', 'run_key']) }} as log_id,
        sync_id,
        sync_run_id,
        row_id,
        'removed' as op_type,
        'succeeded' as status,
        cast(null as {{ dbt.type_string() }}) as failure_reason,
        cast(null as {{ dbt.type_string() }}) as fields,
        cast(null as {{ dbt.type_boolean() }}) as is_object_payload,
        payload_kind,
        split_group,
        'delete' as operation,
        'removal' as operation_kind,
        cast(null as {{ dbt.type_string() }}) as invalid_reason,
        cast(null as {{ dbt.type_timestamp() }}) as batch_started_at,
        cast(null as {{ dbt.type_timestamp() }}) as _census_logged_at,
        true as is_final_attempt,
        true as is_inferred,
        true as was_member
        {%- if is_incremental_build %},
        _order_build_id > {{ last_build_id }} as is_touched
        {%- endif %}
    from inferred_removals

),

{% endif -%}
{% if is_incremental_build -%}
stored_changes as (

    select
        stored.log_key,
        stored.op_type,
        stored.is_final_attempt,
        stored.was_member
    from {{ this }} as stored
    inner join touched_records on stored.record_key = touched_records.record_key
    where not stored._is_deleted and {{ synctrail.of_touched_syncs('stored', touched_syncs) }}

),

compared_changes as (

    select
        told.log_key,
        told.op_type,
        told.is_final_attempt,
        told.was_member,
        stored_changes.log_key as stored_log_key,
        told.is_touched
            or stored_changes.log_key is null
            or stored_changes.op_type <> told.op_type
            or stored_changes.is_final_attempt <> told.is_final_attempt
            or {{ synctrail.is_distinct('stored_changes.was_member', 'told.was_member') }} as is_news
    from (
        select * from logged_effects
        {%- if has_mirror_runs %}
        union all
        select log_key, op_type, is_final_attempt, was_member, is_touched from inferred_changes
        {%- endif %}
    ) as told
    full outer join stored_changes on told.log_key = stored_changes.log_key

),

{% endif -%}
{%- set effects_of_rows = 'compared_changes' if is_incremental_build else 'logged_effects' -%}
logged_changes as (

    select
        sync_log.log_key,
        sync_log.record_key,
        sync_log.run_key,
        sync_log.sync_key,
        sync_log.source_system,
        sync_log.log_id,
        sync_log.sync_id,
        sync_log.sync_run_id,
        sync_log.record_identifier as row_id,
        told.op_type,
        sync_log.status,
        coalesce(
            nullif(sync_log.status_message, ''),
            case sync_log.invalid_reason
                when 'null_identifier' then 'Null identifier'
                when 'duplicate_identifier' then 'Duplicate identifier'
            end
        ) as failure_reason,
        sync_log.record_payload as fields,
        sync_log.is_object_payload,
        sync_log.payload_kind,
        sync_log.split_group,
        sync_log.operation,
        sync_log.operation_kind,
        sync_log.invalid_reason,
        sync_log.batch_started_at,
        sync_log._census_logged_at,
        told.is_final_attempt,
        false as is_inferred,
        told.was_member
    from {{ ref('int_sync_log') }} as sync_log
    inner join {{ effects_of_rows }} as told on sync_log.log_key = told.log_key
    where not sync_log._is_deleted
        {%- if is_incremental_build %}
        and told.is_news
        and {{ synctrail.of_touched_syncs('sync_log', touched_syncs) }}
        {%- endif %}

)

{% set rows_to_store -%}
select
    {{ columns | join(',\n    ') }},
    false as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from logged_changes
{%- if has_mirror_runs %}

union all

select
    {{ synctrail.prefixed('inferred_changes', columns) }},
    false as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from inferred_changes
{%- if is_incremental_build %}
inner join compared_changes on inferred_changes.log_key = compared_changes.log_key
where compared_changes.is_news
{%- endif %}
{%- endif %}
{%- if is_incremental_build %}

union all

select
    {{ synctrail.stored_columns(columns, is_tombstone=true) }},
    true as _is_deleted,
    {{ synctrail.build_id() }} as _build_id
from {{ this }} as stored
inner join (
    select stored_log_key as log_key
    from compared_changes
    where log_key is null

    union all

    {# A row without identifier is of no record. -#}
    select log_key
    from {{ ref('int_sync_log') }}
    where _is_deleted
        and record_key is null
        and _build_id > {{ last_build_id }}
) as vanished
    on stored.log_key = vanished.log_key
where not stored._is_deleted
{%- endif %}
{%- endset %}
{{- synctrail.in_storage_order(rows_to_store, 'sync_key') }}
