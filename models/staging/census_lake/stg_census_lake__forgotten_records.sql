{{ config(enabled=synctrail.reads_source('census_lake')) }}

with forgotten_records as (
    {{ synctrail.source_rows(
        'census_lake', 'forgotten_records',
        text=['sync_id', 'identifier_hash', 'salt', 'load_id'],
        timestamps=['forgotten_at'],
        ids=['sync_id'],
        is_quiet=true
    ) }}
)

select
    'census_lake' as source_system,
    _schema_label as schema_label,
    sync_id,
    identifier_hash,
    salt,
    forgotten_at,
    load_id
from forgotten_records
