{{ config(**synctrail.incremental_config('log_key', keeps_source_rows=true)) }}

{%- set is_incremental_build = synctrail.is_incremental_build() -%}
{%- set staged_columns = [
    'source_system', 'log_id', 'org_id', 'sync_id', 'sync_run_id', 'record_identifier', 'record_payload',
    'payload_kind', 'batch_started_at', 'batch_completed_at', '_census_logged_at', 'operation', 'given_op_type',
    'status', 'invalid_reason', 'status_message', 'split_group', 'batch_number', '_source_file', '_source_row',
    '_load_id'
] -%}
{%- set loaded_sources = synctrail.loaded_sources() -%}
{%- set table_sources = synctrail.table_sources() -%}
{%- set columns = staged_columns + ['operation_kind', 'log_key', 'record_key', 'run_key', 'sync_key'] -%}

{# Record and run are part of the key: where a row of a file that is loaded again has become another record's or
   another run's, those that lost it learn of it by a tombstone. -#}
{%- set keyed_columns -%}
    *,
        case
            when operation in ('delete', 'deleted', 'remove', 'removed') then 'removal'
            when operation = 'append' then 'append'
            else 'upsert'
        end as operation_kind,
        {{ synctrail.hash_key([
            'source_system', 'log_id', "coalesce(sync_id, '')", "coalesce(sync_run_id, '')",
            "coalesce(record_identifier, '')"
        ]) }} as log_key,
        {{ synctrail.record_key() }} as record_key,
        {{ synctrail.run_key() }} as run_key,
        {{ synctrail.sync_key() }} as sync_key
{%- endset -%}
{%- set keyed_attempts -%}
    select
        {{ keyed_columns }}
    from (
        {{- synctrail.union_sources('attempts', staged_columns, loaded_sources) }}
    ) as attempts
{%- endset %}

{%- set new_loads = synctrail.new_loads(synctrail.staging_relations('attempts', loaded_sources))
    if loaded_sources and is_incremental_build -%}
{# A file that is loaded again replaces its rows. -#}
{%- set has_reloaded_files = new_loads and synctrail.has_rows(
    'select stored._source_file from (select distinct _source_file from ' ~ this ~ ' as known) as stored inner join ('
    ~ 'select distinct _source_file from ('
    ~ synctrail.union_sources('attempts', ['_source_file', '_load_id'], loaded_sources)
    ~ ') as attempts where ' ~ synctrail.among('_load_id', new_loads)
    ~ ') as new_files on stored._source_file = new_files._source_file'
) -%}
{# Rarely does a new row have a known log_id otherwise. -#}
{%- set has_known_ids = new_loads and (has_reloaded_files or synctrail.has_rows(
    'select stored.log_id from ' ~ this ~ ' as stored inner join ('
    ~ synctrail.union_sources('attempts', ['log_id', '_load_id'], loaded_sources)
    ~ ') as attempts on stored.log_id = attempts.log_id where ' ~ synctrail.among('attempts._load_id', new_loads)
)) -%}
{# Hashing every identifier costs: it is done where somebody was forgotten since the last build. -#}
{%- set forgotten_records = ref('stg_census_lake__forgotten_records') if 'census_lake' in loaded_sources -%}
{%- set forgotten_salts = synctrail.new_forgotten_salts(forgotten_records)
    if forgotten_records and is_incremental_build else [] -%}
{%- set has_rivals = has_known_ids or forgotten_salts -%}
{# What gives way may be of any sync, and so may what is new in a vendor's tables. -#}
{%- set has_known_syncs = synctrail.searches_merged_rows() and is_incremental_build
    and not has_rivals and not table_sources -%}
{%- set written_syncs = none if not has_known_syncs else synctrail.touched_syncs([(
    '(select ' ~ synctrail.sync_key() ~ ' as sync_key from ('
    ~ synctrail.union_sources('attempts', ['source_system', 'sync_id', '_load_id'], loaded_sources)
    ~ ') as attempts where ' ~ synctrail.among('_load_id', new_loads) ~ ')',
    '1 = 1'
)]) if new_loads else [] -%}
{%- do synctrail.search_merged_rows(written_syncs) %}

with {% if loaded_sources and is_incremental_build -%}
new_attempts as (

    {{ keyed_attempts }}
    where {{ synctrail.among('_load_id', new_loads) }}

),

{% if has_rivals -%}
{# Stored rows that give way, as their files were loaded again, and rows of other files that may have to, as a new row has
   their log_id. Almost none, so that they are looked for by keys alone. -#}
rival_keys as (

    select
        stored.source_system,
        stored.log_id,
        stored.log_key,
        {{ 'new_files._source_file is not null' if has_reloaded_files else 'false' }} as gives_way
    from {{ this }} as stored
    {{ 'left' if has_reloaded_files else 'inner' }} join (
        select distinct source_system, log_id from new_attempts
    ) as arrived
        on stored.source_system = arrived.source_system and stored.log_id = arrived.log_id
    {%- if has_reloaded_files %}
    left join (select distinct _source_file from new_attempts) as new_files
        on stored._source_file = new_files._source_file
    {%- endif %}
    where not stored._is_deleted
        {%- if has_reloaded_files %}
        and (arrived.log_id is not null or new_files._source_file is not null)
        {%- endif %}
    {%- for salt in forgotten_salts %}

    union all

    {# Staging has lost them on purpose, and they go where other lost rows stay. -#}
    select
        stored.source_system,
        stored.log_id,
        stored.log_key,
        true as gives_way
    from {{ this }} as stored
    inner join {{ forgotten_records }} as forgotten
        on {{ synctrail.sha256(dbt.concat([salt, 'stored.record_identifier'])) }} = forgotten.identifier_hash
        and stored.source_system = forgotten.source_system
    where not stored._is_deleted
        and forgotten.salt = {{ salt }}
        and (forgotten.sync_id is null or stored.sync_id = forgotten.sync_id)
        and (
            forgotten.schema_label is null
            or stored.org_id like {{ dbt.concat(['forgotten.schema_label', "':%'"]) }}
        )
    {%- endfor %}

),

{% endif -%}
candidates as (

    select {{ columns | join(', ') }} from new_attempts
    {%- if has_rivals %}

    union all

    select {{ synctrail.stored_columns(columns) }}
    from {{ this }} as stored
    inner join (
        select log_key from rival_keys
        group by log_key
        having max(case when gives_way then 1 else 0 end) = 0
    ) as staying on stored.log_key = staying.log_key
    {%- if has_reloaded_files or forgotten_salts %}

    union all

    {# A row that its file may no longer hold, or that is forgotten, where another file has its log_id. -#}
    select {{ synctrail.prefixed('keyed_attempts', columns) }}
    from (
        {{ keyed_attempts }}
    ) as keyed_attempts
    inner join rival_keys
        on keyed_attempts.source_system = rival_keys.source_system
        and keyed_attempts.log_id = rival_keys.log_id
    where rival_keys.gives_way
    {%- endif %}
    {%- endif %}

),

{# A log_id names one row; if several files hold it, the newest file does. -#}
current_rows as (

    select {{ columns | join(', ') }}
    from (
        select
            *,
            row_number() over (
                partition by source_system, log_id
                order by _census_logged_at desc, _source_file, _source_row, _load_id
            ) as place
        from candidates
    ) as placed_candidates
    where place = 1

),

{% elif loaded_sources -%}
candidates as (

    {{ keyed_attempts }}

),

{# A log_id names one row; if several files hold it, the newest file does. Almost none are, so the search for them is
   over ids alone. -#}
contested as (

    select
        source_system,
        log_id
    from (
        {{- synctrail.union_sources('attempts', ['source_system', 'log_id'], loaded_sources) }}
    ) as attempts
    group by source_system, log_id
    having count(*) > 1

),

ranked as (

    select
        candidates.source_system,
        candidates.log_id,
        candidates._source_file,
        candidates._source_row,
        candidates._load_id,
        row_number() over (
            partition by candidates.source_system, candidates.log_id
            order by
                candidates._census_logged_at desc,
                candidates._source_file,
                candidates._source_row,
                candidates._load_id
        ) as place
    from (
        {{- synctrail.union_sources(
            'attempts',
            ['source_system', 'log_id', '_census_logged_at', '_source_file', '_source_row', '_load_id'],
            loaded_sources
        ) }}
    ) as candidates
    inner join contested
        on candidates.source_system = contested.source_system and candidates.log_id = contested.log_id

),

current_rows as (

    select {{ synctrail.prefixed('candidates', columns) }}
    from candidates
    left join (select * from ranked where place > 1) as outdated
        on candidates.source_system = outdated.source_system
        and candidates.log_id = outdated.log_id
        and candidates._source_file = outdated._source_file
        and candidates._source_row = outdated._source_row
        and candidates._load_id = outdated._load_id
    where outdated.log_id is null

),

{% endif -%}
{% if table_sources -%}
{# Vendors' tables tell no loads: a row is new if its log_id is. What they prune is no news. -#}
new_rows as (

    select {{ synctrail.prefixed('listed', staged_columns) }}
    from (
        {{- synctrail.union_sources('attempts', staged_columns, table_sources) }}
    ) as listed
    {%- if is_incremental_build %}
    left join {{ this }} as stored
        on listed.source_system = stored.source_system and listed.log_id = stored.log_id
    where stored.log_id is null
    {%- endif %}

),

{# Two schemas may hold the same row. -#}
distinct_rows as (

    select *
    from (
        select
            *,
            row_number() over (
                partition by source_system, log_id
                order by sync_id, sync_run_id, record_identifier, operation, status
            ) as place
        from new_rows
    ) as placed
    where place = 1

),

keyed_rows as (

    select
        {{ keyed_columns }}
    from distinct_rows

),

{% endif -%}
attempts as (

    select
        {{ columns | join(',\n        ') }},
        {{ synctrail.json_is_object('record_payload') }} as is_object_payload
    from {% if loaded_sources and table_sources -%}
    (
        select {{ columns | join(', ') }} from current_rows
        union all
        select {{ columns | join(', ') }} from keyed_rows
    ) as current_and_keyed_rows
    {%- else -%}
    {{ 'current_rows' if loaded_sources else 'keyed_rows' }}
    {%- endif %}

)

{{ synctrail.rows_and_tombstones('attempts', 'log_key', columns + ['is_object_payload'],
    'where stored.log_key in (select rival_keys.log_key from rival_keys)' if has_rivals else none
) }}
