{{ config(
    enabled=synctrail.reads_hightouch_audiences(),
    **synctrail.incremental_config('event_key', keeps_source_rows=true, cluster_by='audience_id')
) }}

{# Hightouch may prune the table: events that have been seen stay. -#}
{%- set event_seconds = synctrail.seconds_between(synctrail.timestamp_literal('1970-01-01 00:00:00.000000'), 'event_at') %}

with keyed_events as (

    select distinct
        {{ synctrail.hash_key([
            "coalesce(org_id, '')", 'audience_id', 'row_id', 'event_type',
            'cast(' ~ event_seconds ~ ' as ' ~ dbt.type_string() ~ ')'
        ]) }} as event_key,
        source_system,
        org_id,
        audience_id,
        row_id,
        event_type,
        event_at,
        max(split_group) over (
            partition by org_id, audience_id, row_id, event_type, event_at
        ) as split_group
    from {{ ref('stg_hightouch__memberships') }}
    where event_type in ('enter', 'exit') and event_at is not null

)

select
    events.event_key,
    events.source_system,
    events.org_id,
    events.audience_id,
    events.row_id,
    events.event_type,
    events.event_at,
    events.split_group,
    {{ synctrail.build_id() }} as _build_id
from keyed_events as events
{%- if synctrail.is_incremental_build() %}
left join {{ this }} as stored on events.event_key = stored.event_key
where events.event_key is not null and stored.event_key is null
{%- else %}
where events.event_key is not null
{%- endif %}
