{{ config(materialized='table', enabled=var('classify_messages', false)) }}

with messages as (
    select
        status_message as message,
        sync_id as destination
    from census_lake.sync_tracking_records
)

select * from ({{ synctrail.error_categories('messages') }}) as categories
