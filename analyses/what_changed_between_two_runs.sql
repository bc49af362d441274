select
    record_identifier,
    change_type,
    field_name,
    old_value,
    new_value
from (
    {{ synctrail.diff_runs(var('synctrail_sync_id'), var('synctrail_run_a'), var('synctrail_run_b')) }}
) as differences
order by record_identifier, field_name
