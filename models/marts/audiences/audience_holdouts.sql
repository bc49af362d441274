{{ config(enabled=synctrail.reads_hightouch_audiences()) }}

with holdouts as (

    select
        *,
        row_number() over (partition by sync_key, row_id order by held_out_at desc, holdout_key) as place_from_last,
        first_value(sync_run_id) over (
            partition by sync_key, row_id order by held_out_at, holdout_key
            rows between unbounded preceding and unbounded following
        ) as first_held_out_run_id,
        min(held_out_at) over (partition by sync_key, row_id) as first_held_out_at,
        count(*) over (partition by sync_key, row_id) as n_runs
    from {{ ref('int_hightouch_holdouts') }}

),

{# The group that the planner last put each row in. -#}
split_groups as (

    select
        org_id,
        audience_id,
        row_id,
        split_group
    from (
        select
            *,
            row_number() over (
                partition by org_id, audience_id, row_id order by event_at desc, event_key
            ) as place_from_last
        from {{ ref('int_hightouch_memberships') }}
        where split_group is not null
    ) as placed_events
    where place_from_last = 1

),

syncs as (

    select * from {{ ref('int_syncs') }}

)

select
    holdouts.source_system,
    holdouts.sync_id,
    syncs.audience_name,
    syncs.audience_type,
    syncs.destination,
    holdouts.row_id as record_identifier,
    split_groups.split_group,
    holdouts.first_held_out_at,
    holdouts.first_held_out_run_id,
    holdouts.held_out_at as last_held_out_at,
    holdouts.sync_run_id as last_held_out_run_id,
    cast(holdouts.n_runs as {{ dbt.type_bigint() }}) as n_runs,
    holdouts.fields as record_payload
from holdouts
left join syncs on holdouts.sync_key = syncs.sync_key
left join split_groups
    on holdouts.model_id = split_groups.audience_id
    and coalesce(syncs.org_id, '') = coalesce(split_groups.org_id, '')
    and holdouts.row_id = split_groups.row_id
where holdouts.place_from_last = 1
