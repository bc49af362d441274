{%- set has_planner = synctrail.reads_hightouch_audiences() -%}

with spells as (

    select * from {{ ref('int_audience_spells') }}
    where not _is_deleted

),

syncs as (

    select * from {{ ref('int_syncs') }}

)

{%- if has_planner %},

{# The planner tells an entry again that it has told before. -#}
planner_changes as (

    select
        *,
        lag(event_type) over (partition by org_id, audience_id, row_id order by event_at, event_type)
            as previous_event_type
    from {{ ref('int_hightouch_memberships') }}

),

planner_memberships as (

    select
        *,
        lead(event_at) over (partition by org_id, audience_id, row_id order by event_at, event_type) as left_at
    from planner_changes
    where previous_event_type is null or previous_event_type <> event_type

),

{# Of each spell, the last of the planner's memberships that began before it. -#}
planned_spells as (

    select *
    from (
        select
            spells.spell_key,
            planner_memberships.event_at as planned_entry_at,
            planner_memberships.left_at as planned_exit_at,
            planner_memberships.split_group,
            row_number() over (
                partition by spells.spell_key order by planner_memberships.event_at desc
            ) as place_from_last
        from spells
        inner join syncs on spells.sync_key = syncs.sync_key
        inner join planner_memberships
            on syncs.source_system = planner_memberships.source_system
            and coalesce(syncs.org_id, '') = coalesce(planner_memberships.org_id, '')
            and syncs.source_object_id = planner_memberships.audience_id
            and spells.record_identifier = planner_memberships.row_id
        where planner_memberships.event_type = 'enter'
            and planner_memberships.event_at
            <= coalesce(spells.entered_at, spells.exited_at, planner_memberships.event_at)
    ) as placed_memberships
    where place_from_last = 1

)
{%- endif %}

select
    spells.source_system,
    spells.sync_id,
    syncs.audience_name,
    syncs.audience_type,
    syncs.destination,
    spells.record_identifier,
    spells.spell_number,
    spells.entered_at,
    spells.entered_run_id,
    spells.entry_observed,
    spells.exited_at,
    spells.exited_run_id,
    spells.is_current,
    spells.reached_destination_at,
    spells.left_destination_at,
    {%- if has_planner %}
    planned_spells.planned_entry_at,
    planned_spells.planned_exit_at,
    planned_spells.split_group
    {%- else %}
    {{ synctrail.typed_nulls(['planned_entry_at', 'planned_exit_at'], 'timestamp') }},
    {{ synctrail.typed_nulls(['split_group']) }}
    {%- endif %}
from spells
inner join syncs on spells.sync_key = syncs.sync_key
{%- if has_planner %}
left join planned_spells on spells.spell_key = planned_spells.spell_key
{%- endif %}
