{% for sync_id, moment in var('asked_members', [[1, '2025-12-01']]) %}
select
    {{ loop.index0 }} as question,
    record_identifier
from ({{ synctrail.members_at(sync_id, moment) }}) as members
{{ 'union all' if not loop.last }}
{% endfor %}
