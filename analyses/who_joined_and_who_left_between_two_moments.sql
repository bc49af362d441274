with earlier as (
    {{ synctrail.members_at(var('synctrail_sync_id'), var('synctrail_earlier')) }}
),

later as (
    {{ synctrail.members_at(var('synctrail_sync_id'), var('synctrail_moment')) }}
)

select
    coalesce(earlier.record_identifier, later.record_identifier) as record_identifier,
    case when earlier.record_identifier is null then 'joined' else 'left' end as change
from earlier
full outer join later on earlier.record_identifier = later.record_identifier
where earlier.record_identifier is null or later.record_identifier is null
order by change, record_identifier
