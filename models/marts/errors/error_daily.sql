{{ config(**synctrail.table_config('sync_id', day='date')) }}

with errors as (

    select * from {{ ref('int_record_errors') }}
    where not _is_deleted and occurred_at is not null

),

dated_errors as (

    select
        source_system,
        sync_id,
        record_key,
        category,
        {{ synctrail.utc_date('occurred_at') }} as date
    from errors

)

select
    source_system,
    sync_id,
    date,
    category,
    cast(count(*) as {{ dbt.type_bigint() }}) as n_errors,
    cast(count(distinct record_key) as {{ dbt.type_bigint() }}) as n_records
from dated_errors
group by source_system, sync_id, date, category
