{{ config(severity='warn', enabled=synctrail.reads_source('hightouch')) }}

with ours as (

    select * from {{ ref('sync_snapshot') }}
    where source_system = 'hightouch'

),

theirs as (

    select * from {{ ref('stg_hightouch__snapshot') }}

)

select
    ours.sync_id,
    ours.row_id,
    ours.op_type,
    theirs.op_type as their_op_type,
    ours.status,
    theirs.status as their_status,
    ours.failure_reason,
    theirs.failure_reason as their_failure_reason
from ours
inner join theirs on ours.sync_id = theirs.sync_id and ours.row_id = theirs.row_id
where {{ synctrail.rows_differ('ours', 'theirs', ['op_type', 'status', 'failure_reason']) }}
