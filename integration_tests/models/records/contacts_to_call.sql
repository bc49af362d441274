select contacts.contact_id
from {{ ref('contacts') }} as contacts
inner join (
    {{ synctrail.failed_record_identifiers('1', min_failed_attempts=2, source_system='census_lake') }}
) as failing on contacts.contact_id = failing.record_identifier
