{{ config(**synctrail.incremental_config('run_key')) }}

{%- set is_incremental_build = synctrail.is_incremental_build() %}

with sync_log as (

    select * from {{ ref('int_sync_log') }}

),

{% if is_incremental_build -%}
touched_runs as (

    select distinct run_key from sync_log
    where _build_id > {{ synctrail.last_build_id() }}

),

{% endif -%}
payloads as (

    select
        sync_log.run_key,
        sync_log.sync_key,
        case
            when sync_log._is_deleted or sync_log.record_payload is null then 0
            when {{ synctrail.json_is_object('sync_log.record_payload') }} then 0
            else 1
        end as is_unparseable
    from sync_log
    {%- if is_incremental_build %}
    inner join touched_runs on sync_log.run_key = touched_runs.run_key
    {%- endif %}

)

select
    run_key,
    max(sync_key) as sync_key,
    cast(sum(is_unparseable) as {{ dbt.type_bigint() }}) as n_unparseable_payloads,
    {{ synctrail.build_id() }} as _build_id
from payloads
group by run_key
