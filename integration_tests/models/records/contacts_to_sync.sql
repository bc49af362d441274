{% for sync_id in [1, '2'] %}
select
    '{{ sync_id }}' as sync_id,
    contact_id
from {{ ref('contacts') }}
where contact_id not in ({{ synctrail.failed_record_identifiers(sync_id) }})
{{ 'union all' if not loop.last }}
{% endfor %}
