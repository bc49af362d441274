{{ config(
    post_hook="{{ synctrail.erase_unused_messages(ref('int_sync_log'), ref('int_error_messages')) }}",
    **synctrail.incremental_config('log_key')
) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set attempt_order = [
    'batch_started_at', 'batch_completed_at', 'batch_number', '_source_file', '_source_row'
] -%}
{%- set identity = [
    'log_key', 'record_key', 'run_key', 'sync_key', 'source_system', 'sync_id', 'sync_run_id', 'log_id',
    'record_identifier'
] -%}
{%- set read_columns = identity[:-1] + [
    'row_id', 'status', 'invalid_reason', 'failure_reason', 'batch_started_at', '_census_logged_at'
] -%}
{%- set columns = identity + [
    'status', 'invalid_reason', 'status_message', 'message', 'error_template', 'error_fingerprint',
    'category', 'is_retryable', 'suggested_action', 'occurred_at', 'destination', 'resolved_at', 'message_key'
] -%}
{%- set runs %}
    select
        sync_runs.run_key,
        sync_runs.started_at,
        sync_runs.destination,
        run_order.run_number,
        run_order._order_build_id
    from (
        select
            started_at,
            destination,
            {{ synctrail.run_key() }} as run_key
        from {{ ref('sync_runs') }}
    ) as sync_runs
    inner join {{ ref('int_run_order') }} as run_order on sync_runs.run_key = run_order.run_key
{%- endset -%}

{# Stored errors whose message has been judged anew, or that another destination or start of their run, may tell differently. -#}
{%- set outdated_errors %}
    select
        stored.log_key,
        stored.record_key,
        stored.sync_key
    from {{ this }} as stored
    left join ({{ runs }}
    ) as runs on stored.run_key = runs.run_key
    left join {{ ref('int_error_messages') }} as messages on stored.message_key = messages.message_key
    where
        not stored._is_deleted
        and (
            messages._build_id > {{ last_build_id }}
            or {{ synctrail.is_distinct('stored.destination', 'runs.destination') }}
            or runs._order_build_id > {{ last_build_id }}
        )
{%- endset -%}
{%- set has_outdated_errors = is_incremental_build and synctrail.has_rows(outdated_errors) -%}
{%- set touched_syncs = synctrail.touched_syncs(
    [(ref('int_sync_changelog'), '_build_id > ' ~ last_build_id)]
    + ([('(' ~ outdated_errors ~ ')', '1 = 1')] if has_outdated_errors else [])
) if is_incremental_build -%}
{%- do synctrail.search_merged_rows(touched_syncs) %}

with runs as (
    {{ runs }}

),

{% if has_outdated_errors -%}
outdated_errors as (
    {{ outdated_errors }}

),

{% endif -%}
{% if is_incremental_build -%}
touched_records as (

    select distinct record_key from {{ ref('int_sync_changelog') }} as changelog
    where _build_id > {{ last_build_id }} and record_key is not null
    {%- if has_outdated_errors %}

    {{ synctrail.union_distinct() }}

    select record_key from outdated_errors
    where record_key is not null
    {%- endif %}

),

{# Of no record, as they have no identifier. -#}
touched_attempts as (

    select log_key from {{ ref('int_sync_changelog') }} as changelog
    where _build_id > {{ last_build_id }} and record_key is null
    {%- if has_outdated_errors %}

    {{ synctrail.union_distinct() }}

    select log_key from outdated_errors
    where record_key is null
    {%- endif %}

),

{% endif -%}
{# Found by one join where a record is touched, by another where an attempt is: a join with an `or` reads all. -#}
erroneous_attempts as (

    select {{ synctrail.prefixed('changelog', read_columns) }}
    from {{ ref('int_sync_changelog') }} as changelog
    {%- if is_incremental_build %}
    inner join touched_records on changelog.record_key = touched_records.record_key
    {%- endif %}
    where
        changelog.status in ('rejected', 'invalid')
        and not changelog._is_deleted
    {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}

    union all

    select {{ synctrail.prefixed('changelog', read_columns) }}
    from {{ ref('int_sync_changelog') }} as changelog
    inner join touched_attempts on changelog.log_key = touched_attempts.log_key
    where
        changelog.status in ('rejected', 'invalid')
        and not changelog._is_deleted
        and {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
    {%- endif %}

),

errors as (

    select
        {{ synctrail.prefixed('changelog', identity[:-1]) }},
        changelog.row_id as record_identifier,
        changelog.status,
        changelog.invalid_reason,
        changelog.failure_reason as message,
        {{ synctrail.error_message_key("coalesce(changelog.failure_reason, 'No message')", 'runs.destination') }}
            as message_key,
        coalesce(changelog.batch_started_at, runs.started_at, changelog._census_logged_at) as occurred_at,
        runs.destination,
        runs.run_number
    from erroneous_attempts as changelog
    inner join runs on changelog.run_key = runs.run_key

),

erroneous_records as (

    select distinct record_key from errors
    where record_key is not null

),

{# The errors of these records and their successes, with the number of successes from each on, in run order and attempt
   order: the same for a success and for the errors that it is the first to follow. -#}
counted_successes as (

    select
        sync_log.log_key,
        sync_log.record_key,
        sync_log.status,
        coalesce(sync_log.batch_started_at, runs.started_at, sync_log._census_logged_at) as occurred_at,
        count(case when sync_log.status = 'succeeded' then 1 end) over (
            partition by sync_log.record_key
            order by
                runs.run_number desc,
                {%- for column in attempt_order %}
                case when sync_log.{{ column }} is null then 0 else 1 end desc,
                sync_log.{{ column }} desc,
                {%- endfor %}
                sync_log.log_id desc
            rows between unbounded preceding and current row
        ) as n_successes_from_here
    from {{ ref('int_sync_log') }} as sync_log
    inner join erroneous_records on sync_log.record_key = erroneous_records.record_key
    inner join runs on sync_log.run_key = runs.run_key
    where
        not sync_log._is_deleted
        and sync_log.status in ('succeeded', 'rejected', 'invalid')
        {%- if is_incremental_build %}
        and {{ synctrail.of_touched_syncs('sync_log', touched_syncs) }}
        {%- endif %}

),

resolutions as (

    select
        log_key,
        max(case when status = 'succeeded' then occurred_at end) over (
            partition by record_key, n_successes_from_here
        ) as resolved_at
    from counted_successes

),

judged_errors as (

    select
        {{ synctrail.prefixed('errors', identity) }},
        errors.status,
        errors.invalid_reason,
        sync_log.status_message,
        errors.message,
        judged_messages.error_template,
        judged_messages.error_fingerprint,
        judged_messages.category,
        judged_messages.is_retryable,
        judged_messages.suggested_action,
        errors.occurred_at,
        errors.destination,
        resolutions.resolved_at,
        errors.message_key
    from errors
    inner join {{ ref('int_sync_log') }} as sync_log on errors.log_key = sync_log.log_key
    inner join {{ ref('int_error_messages') }} as judged_messages on errors.message_key = judged_messages.message_key
    left join resolutions on errors.log_key = resolutions.log_key
    {%- if is_incremental_build %}
    where {{ synctrail.of_touched_syncs('sync_log', touched_syncs) }}
    {%- endif %}

)

{{ synctrail.rows_and_tombstones('judged_errors', 'log_key', columns,
    'left join touched_records on stored.record_key = touched_records.record_key
        left join touched_attempts on stored.log_key = touched_attempts.log_key
        where (touched_records.record_key is not null or touched_attempts.log_key is not null) and '
    ~ synctrail.of_touched_syncs('stored', touched_syncs)
) }}
