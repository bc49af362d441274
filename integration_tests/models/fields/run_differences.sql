select *
from ({{ synctrail.diff_runs(1, var('run_a', '1'), var('run_b', '2')) }}) as differences
