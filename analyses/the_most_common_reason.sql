select
    audience_name,
    destination,
    category,
    error_template,
    example_message,
    n_records,
    n_open_records,
    share_of_sync_errors,
    suggested_action
from {{ ref('error_summary') }}
where rank_in_sync = 1
order by rank_overall, audience_name
