{#
    A query: the records of a sync that keep failing, to filter them out of the model that the sync reads.

    sync_id: the sync's id
    min_failed_attempts: runs in a row that a record must have failed in; 1 gives every record of failed_records
    source_system: needed only where two source systems have a sync of this id
    Result: record_identifier (text, never null), once each

    Example: select * from customers where id not in ({{ synctrail.failed_record_identifiers('1234') }})
#}
{% macro failed_record_identifiers(sync_id, min_failed_attempts=1, source_system=none) %}
    select distinct record_identifier
    from {{ ref('synctrail', 'failed_records') }}
    where {{ synctrail.of_sync(sync_id, source_system) }}
        and n_failed_attempts >= {{ min_failed_attempts }}
{% endmacro %}
