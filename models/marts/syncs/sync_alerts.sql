{{ config(**synctrail.table_config()) }}

{%- set double = synctrail.type_double() -%}
{%- set failed_share = 'cast(n_failed + n_invalid as ' ~ double ~ ') / nullif(n_planned, 0)' -%}
{#- Counts instead of a mean, so that a difference of exactly the threshold is no alert in any arithmetic. -#}
{%- set deviation = 'cast(abs(n_planned * n_runs_before - n_planned_before) as ' ~ double
    ~ ') / nullif(n_planned_before, 0)' -%}
{%- set attempted_share = 'cast(n_members_attempted as ' ~ double ~ ') / nullif(n_members_before, 0)' -%}
{%- set rules = [
    {
        'alert_type': 'failed_sync',
        'observed_value': "case when status = 'failed' then 1 else 0 end",
        'threshold': 0,
        'violated': "status = 'failed'"
    },
    {
        'alert_type': 'failed_records',
        'observed_value': failed_share,
        'threshold': var('synctrail_alert_failed_records'),
        'violated': 'observed_value > threshold'
    },
    {
        'alert_type': 'sync_runtime',
        'observed_value': 'duration_seconds',
        'threshold': var('synctrail_alert_runtime_seconds'),
        'violated': 'observed_value > threshold'
    },
    {
        'alert_type': 'record_count_deviation',
        'observed_value': deviation,
        'threshold': var('synctrail_alert_deviation'),
        'violated': 'run_number >= 4 and observed_value > threshold'
    },
    {
        'alert_type': 'full_sync',
        'observed_value': attempted_share,
        'threshold': var('synctrail_alert_full_sync_share'),
        'violated': 'not replaces_or_appends and n_members_before >= '
            ~ var('synctrail_alert_full_sync_members') ~ ' and observed_value >= threshold'
    }
] %}

with syncs as (

    select * from {{ ref('int_syncs') }}

),

health as (

    select * from {{ ref('sync_health') }}

),

runs as (

    select
        measures.*,
        syncs.has_mirror_operations or syncs.has_append_operations as replaces_or_appends,
        {%- for column, aggregate in [
            ('n_planned_before', 'sum(measures.n_planned)'), ('n_runs_before', 'count(*)')
        ] %}
        {{ aggregate }} over (
            partition by measures.sync_key
            order by measures.run_number
            rows between {{ var('synctrail_alert_deviation_runs') }} preceding and 1 preceding
        ) as {{ column }}{% if not loop.last %},{% endif %}
        {%- endfor %}
    from {{ ref('int_run_measures') }} as measures
    inner join syncs on measures.sync_key = syncs.sync_key

),

judged as (
    {%- for rule in rules %}

    select
        *,
        coalesce({{ rule.violated }}, false) as is_violated
    from (
        select
            *,
            '{{ rule.alert_type }}' as alert_type,
            cast({{ rule.observed_value }} as {{ double }}) as observed_value,
            cast({{ rule.threshold }} as {{ double }}) as threshold
        from runs
    ) as measured
    {%- if not loop.last %}

    union all
    {%- endif %}
    {%- endfor %}

),

bounds as (

    select
        *,
        coalesce(lag(case when is_violated then 1 else 0 end) over (
            partition by sync_key, alert_type order by run_number
        ), 0) = 1 as was_violated,
        min(case when not is_violated then run_number end) over (
            partition by sync_key, alert_type
            order by run_number
            rows between 1 following and unbounded following
        ) as resolved_run_number
    from judged

),

run_alerts as (

    select
        bounds.sync_key,
        bounds.alert_type,
        bounds.sync_run_id as opened_run_id,
        bounds.started_at as opened_at,
        resolving_runs.sync_run_id as resolved_run_id,
        resolving_runs.started_at as resolved_at,
        bounds.observed_value,
        bounds.threshold
    from bounds
    left join runs as resolving_runs
        on bounds.sync_key = resolving_runs.sync_key
        and bounds.resolved_run_number = resolving_runs.run_number
    where bounds.is_violated and not bounds.was_violated

),

latest_runs as (

    select
        sync_key,
        max(run_number) as run_number
    from runs
    group by sync_key

),

stale_alerts as (

    select
        syncs.sync_key,
        'stale_sync' as alert_type,
        runs.sync_run_id as opened_run_id,
        health.last_run_at,
        cast(null as {{ dbt.type_string() }}) as resolved_run_id,
        cast(null as {{ dbt.type_timestamp() }}) as resolved_at,
        health.seconds_since_last_run as observed_value,
        cast({{ var('synctrail_stale_factor') }} * health.median_run_interval_seconds as {{ double }})
            as threshold
    from health
    inner join syncs on health.source_system = syncs.source_system and health.sync_id = syncs.sync_id
    inner join latest_runs on syncs.sync_key = latest_runs.sync_key
    inner join runs
        on latest_runs.sync_key = runs.sync_key
        and latest_runs.run_number = runs.run_number
    where health.is_stale

),

alerts as (

    select * from run_alerts

    union all

    select
        sync_key,
        alert_type,
        opened_run_id,
        {{ synctrail.seconds_after('last_run_at', 'threshold') }} as opened_at,
        resolved_run_id,
        resolved_at,
        observed_value,
        threshold
    from stale_alerts

)

select
    syncs.source_system,
    syncs.sync_id,
    syncs.audience_name,
    alerts.alert_type,
    alerts.opened_run_id,
    alerts.opened_at,
    alerts.resolved_run_id,
    alerts.resolved_at,
    alerts.resolved_run_id is null as is_open,
    alerts.observed_value,
    alerts.threshold,
    case alerts.alert_type
        when 'failed_sync' then {{ dbt.concat(["'Run '", 'alerts.opened_run_id', "' failed.'"]) }}
        when 'failed_records' then {{ dbt.concat([
            "'Run '", 'alerts.opened_run_id', "': '", synctrail.percent_text('alerts.observed_value'),
            "' of its records were rejected or invalid; the limit is '",
            synctrail.percent_text('alerts.threshold'), "'.'"
        ]) }}
        when 'sync_runtime' then {{ dbt.concat([
            "'Run '", 'alerts.opened_run_id', "' took '",
            synctrail.whole_number_text('alerts.observed_value'), "' seconds; the limit is '",
            synctrail.whole_number_text('alerts.threshold'), "'.'"
        ]) }}
        when 'record_count_deviation' then {{ dbt.concat([
            "'Run '", 'alerts.opened_run_id', "' has '", synctrail.percent_text('alerts.observed_value'),
            "' more or fewer records than the runs before it on average; the limit is '",
            synctrail.percent_text('alerts.threshold'), "'.'"
        ]) }}
        when 'full_sync' then {{ dbt.concat([
            "'Run '", 'alerts.opened_run_id', "' sent '", synctrail.percent_text('alerts.observed_value'),
            "' of the records that the destination already had: it was a full sync.'"
        ]) }}
        when 'stale_sync' then {{ dbt.concat([
            "'No run since run '", 'alerts.opened_run_id', "', '",
            synctrail.whole_number_text('alerts.observed_value'), "' seconds ago; a run was due within '",
            synctrail.whole_number_text('alerts.threshold'), "'.'"
        ]) }}
    end as message
from alerts
inner join syncs on alerts.sync_key = syncs.sync_key
