{{ config(enabled=synctrail.reads_source('hightouch')) }}

{%- set counts = synctrail.given_run_counts() | map('replace', 'given_', '') | list %}

with runs as (
    {{ synctrail.source_rows(
        'hightouch', 'sync_runs',
        text=[
            'sync_id', 'sync_run_id', 'primary_key', 'destination', 'model_name', 'model_id', 'status', 'error'
        ],
        timestamps=['started_at', 'finished_at'],
        numbers=counts,
        ids=['sync_id']
    ) }}
)

select
    'hightouch' as source_system,
    _schema_label as org_id,
    {{ synctrail.typed_nulls(['workspace_id']) }},
    sync_id,
    sync_run_id,
    {{ synctrail.typed_nulls(['source_type', 'source_id']) }},
    model_id as source_object_id,
    {{ synctrail.typed_nulls(['destination_type', 'destination_id', 'destination_object_id']) }},
    started_at as declared_started_at,
    true as has_metadata,
    primary_key as given_primary_key,
    destination as given_destination,
    model_name as given_model_name,
    lower(trim(status)) as given_status,
    error as given_error,
    finished_at as given_finished_at,
    {%- for count in counts %}
    {{ count }} as given_{{ count }}{% if not loop.last %},{% endif %}
    {%- endfor %}
from runs
