{{ config(materialized='table', enabled=var('classify_messages', false)) }}

select
    log_id,
    {{ synctrail.error_template('status_message') }} as error_template
from census_lake.sync_tracking_records
