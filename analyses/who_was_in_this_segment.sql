select
    sync_id,
    destination,
    record_identifier,
    entered_at,
    exited_at,
    reached_destination_at
from {{ ref('audience_memberships') }}
where audience_name = {{ dbt.string_literal(dbt.escape_single_quotes(var('synctrail_audience_name'))) }}
    and (not entry_observed or entered_at <= {{ synctrail.moment(var('synctrail_moment')) }})
    and (is_current or exited_at > {{ synctrail.moment(var('synctrail_moment')) }})
order by sync_id, record_identifier
