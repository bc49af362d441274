{# A table, though small: most models join it, and engines that inline views would number the runs for each. -#}
{{ config(**synctrail.table_config()) }}

with runs as (

    select * from {{ ref('int_sync_runs') }}

),

numbered as (

    select
        run_key,
        sync_key,
        sync_run_id,
        started_at,
        is_mirror_run,
        _order_build_id,
        row_number() over (
            partition by sync_key
            order by
                case when started_at is null then 0 else 1 end,
                started_at,
                length(sync_run_id),
                sync_run_id
        ) as run_number
    from runs

)

select
    run_key,
    sync_key,
    sync_run_id,
    started_at,
    run_number,
    _order_build_id,
    min(case when is_mirror_run then run_number end) over (
        partition by sync_key
        order by run_number
        rows between 1 following and unbounded following
    ) as next_mirror_run_number,
    run_number = max(run_number) over (partition by sync_key) as is_latest_run
from numbered
