{#
    A query: the records that were in a sync's audience at a moment, for users' own models and analyses. It tells what
    audience_memberships tells: a record is in from its entry, that moment included, to its exit, that moment excluded;
    one whose entry was not observed is in at any moment before its exit.

    sync_id: the sync's id
    timestamp: ISO 8601 text, in UTC unless it has an offset of its own; a date alone is its midnight. Or SQL for a UTC
        timestamp.
    source_system: needed only where two source systems have a sync of this id
    Result: record_identifier (text), once each

    Example: select * from customers where id in ({{ synctrail.members_at('1234', '2025-12-31 18:00:00') }})
#}
{% macro members_at(sync_id, timestamp, source_system=none) %}
    {%- set moment = synctrail.moment(timestamp) %}
    select distinct record_identifier
    from {{ ref('synctrail', 'audience_memberships') }}
    where {{ synctrail.of_sync(sync_id, source_system) }}
        and (not entry_observed or entered_at <= {{ moment }})
        and (is_current or exited_at > {{ moment }})
{% endmacro %}
