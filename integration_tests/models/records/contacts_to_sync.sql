select contact_id
from {{ ref('contacts') }}
where contact_id not in ({{ synctrail.failed_record_identifiers(var('sync_id', 1)) }})
