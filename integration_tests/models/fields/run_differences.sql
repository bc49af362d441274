{% for run_a, run_b in var('compared_runs', [['1', '2']]) %}
select
    {{ loop.index0 }} as question,
    differences.*
from ({{ synctrail.diff_runs(1, run_a, run_b) }}) as differences
{{ 'union all' if not loop.last }}
{% endfor %}
