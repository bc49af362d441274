select record_identifier
from ({{ synctrail.members_at(var('sync_id', 1), var('moment', '2025-12-01')) }}) as members
