{{ config(**synctrail.incremental_config('run_key', cluster_by='run_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set last_build_id = synctrail.last_build_id() if is_incremental_build -%}
{%- set touched_syncs = synctrail.touched_syncs([
    (ref('int_sync_changelog'), '_build_id > ' ~ last_build_id)
]) if is_incremental_build %}

with {% if is_incremental_build -%}
touched_runs as (

    select distinct run_key from {{ ref('int_sync_changelog') }}
    where _build_id > {{ last_build_id }}

),

{% endif -%}
changes as (

    select
        changelog.run_key,
        changelog.op_type,
        changelog.status,
        not changelog._is_deleted and not changelog.is_inferred as is_planned,
        not changelog._is_deleted and changelog.is_inferred as is_inferred_removal
    from {{ ref('int_sync_changelog') }} as changelog
    {%- if is_incremental_build %}
    inner join touched_runs on changelog.run_key = touched_runs.run_key
    where {{ synctrail.of_touched_syncs('changelog', touched_syncs) }}
    {%- endif %}

)

select
    run_key,
    {%- for outcome, statuses in [
        ('planned', none), ('attempted', "'succeeded', 'rejected'"), ('succeeded', "'succeeded'"), ('failed', "'rejected'")
    ] %}
    {%- for noun, op_type in [('add', 'added'), ('change', 'changed'), ('remove', 'removed')] %}
    cast(sum(
        case
            when is_planned and op_type = '{{ op_type }}'{% if statuses %} and status in ({{ statuses }}){% endif %} then 1
            else 0
        end
    ) as {{ dbt.type_bigint() }}) as num_{{ outcome }}_{{ noun }},
    {%- endfor %}
    {%- endfor %}
    cast(sum(case when is_planned and status = 'invalid' then 1 else 0 end) as {{ dbt.type_bigint() }}) as num_invalid,
    cast(sum(case when is_inferred_removal then 1 else 0 end) as {{ dbt.type_bigint() }}) as num_inferred_remove,
    {{ synctrail.build_id() }} as _build_id
from changes
group by run_key
