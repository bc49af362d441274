{{ config(
    enabled=synctrail.reads_hightouch_audiences(),
    **synctrail.incremental_config('holdout_key', keeps_source_rows=true)
) }}

{%- do synctrail.search_merged_rows(none) %}

{# Hightouch may prune the table: rows that have been seen stay. -#}
with keyed_holdouts as (

    select
        {{ synctrail.hash_key(['source_system', 'sync_id', "coalesce(sync_run_id, '')", 'row_id']) }} as holdout_key,
        {{ synctrail.sync_key() }} as sync_key,
        source_system,
        sync_id,
        sync_run_id,
        model_id,
        row_id,
        held_out_at,
        fields
    from {{ ref('stg_hightouch__holdouts') }}
    where row_id is not null

),

distinct_holdouts as (

    select *
    from (
        select
            *,
            row_number() over (partition by holdout_key order by held_out_at desc) as place
        from keyed_holdouts
    ) as placed_holdouts
    where place = 1

)

select
    holdouts.holdout_key,
    holdouts.sync_key,
    holdouts.source_system,
    holdouts.sync_id,
    holdouts.sync_run_id,
    holdouts.model_id,
    holdouts.row_id,
    holdouts.held_out_at,
    holdouts.fields,
    {{ synctrail.build_id() }} as _build_id
from distinct_holdouts as holdouts
{%- if synctrail.is_incremental_build() %}
left join {{ this }} as stored on holdouts.holdout_key = stored.holdout_key
where stored.holdout_key is null
{%- endif %}
