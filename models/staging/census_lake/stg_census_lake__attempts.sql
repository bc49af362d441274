with records as (

    select * from {{ source('census_lake', 'sync_tracking_records') }}

)

select
    'census_lake' as source_system,
    log_id,
    org_id,
    sync_id,
    sync_run_id,
    record_identifier,
    record_payload,
    'source' as payload_kind,
    {{ synctrail.utc_timestamp('batch_started_at') }} as batch_started_at,
    {{ synctrail.utc_timestamp('batch_completed_at') }} as batch_completed_at,
    {{ synctrail.utc_timestamp('_file_modified_at') }} as _census_logged_at,
    lower(trim(operation)) as operation,
    cast(null as {{ dbt.type_string() }}) as given_op_type,
    {{ synctrail.census_status('status') }} as status,
    {{ synctrail.census_invalid_reason('status') }} as invalid_reason,
    status_message,
    cast(null as {{ dbt.type_string() }}) as split_group,
    cast(batch_number as {{ dbt.type_bigint() }}) as batch_number,
    _source_file,
    cast(_source_row as {{ dbt.type_bigint() }}) as _source_row,
    _load_id
from records
