{#
    A query: what changed in a sync between two of its runs, for users' own models and analyses. What a record was
    after a run is the payload of its last succeeded upsert up to and with that run, unless a removal came later.

    sync_id, run_a, run_b: ids; the result tells how run_a's records became run_b's, whichever ran first
    source_system: needed only where two source systems have a sync of this id
    Result: source_system, sync_id, record_identifier, change_type, field_name, old_value, new_value
      - `added` and `removed`: a record that was in the destination after one run only; field_name is null, and
        new_value or old_value is its payload
      - `set`, `cleared`, `modified`: one row a field, as in field_changes
    A run that the sync does not have gives no rows.

    Example: select * from ({{ synctrail.diff_runs('1234', '100', '102') }}) as differences
#}
{% macro diff_runs(sync_id, run_a, run_b, source_system=none) %}
    {%- set literals = [] -%}
    {%- for id in [sync_id, run_a, run_b, source_system] -%}
        {%- do literals.append(dbt.string_literal(dbt.escape_single_quotes(id | string))) -%}
    {%- endfor %}
    with runs as (

        select
            runs.run_key,
            runs.sync_key,
            runs.sync_run_id,
            run_order.run_number
        from {{ ref('int_sync_runs') }} as runs
        inner join {{ ref('int_run_order') }} as run_order on runs.run_key = run_order.run_key
        where runs.sync_id = {{ literals[0] }}
        {%- if source_system is not none %}
            and runs.source_system = {{ literals[3] }}
        {%- endif %}

    ),

    compared_runs as (

        select
            sync_key,
            max(case when sync_run_id = {{ literals[1] }} then run_number end) as number_a,
            max(case when sync_run_id = {{ literals[2] }} then run_number end) as number_b
        from runs
        group by sync_key

    ),

    succeeded_attempts as (

        select
            changelog.log_key,
            changelog.record_key,
            changelog.source_system,
            changelog.sync_id,
            changelog.row_id,
            changelog.operation_kind,
            changelog.fields,
            changelog.is_object_payload,
            runs.run_number,
            compared_runs.number_a,
            compared_runs.number_b
        from {{ ref('int_sync_changelog') }} as changelog
        inner join runs on changelog.run_key = runs.run_key
        inner join compared_runs on runs.sync_key = compared_runs.sync_key
        where compared_runs.number_a is not null
            and compared_runs.number_b is not null
            and not changelog._is_deleted
            and changelog.is_final_attempt
            and changelog.status = 'succeeded'
            and changelog.operation_kind <> 'append'

    ),

    last_runs as (

        select
            record_key,
            max(case when run_number <= number_a then run_number end) as last_number_a,
            max(case when run_number <= number_b then run_number end) as last_number_b
        from succeeded_attempts
        group by record_key

    ),

    upserts as (

        select * from succeeded_attempts
        where operation_kind = 'upsert'

    ),

    {# Null on the side of the run after which the record was not in the destination. -#}
    records as (

        select
            last_runs.record_key,
            coalesce(after_a.source_system, after_b.source_system) as source_system,
            coalesce(after_a.sync_id, after_b.sync_id) as sync_id,
            coalesce(after_a.row_id, after_b.row_id) as record_identifier,
            after_a.log_key as log_key_a,
            after_b.log_key as log_key_b,
            after_a.fields as payload_a,
            after_b.fields as payload_b,
            after_a.is_object_payload and after_b.is_object_payload as are_objects
        from last_runs
        left join upserts as after_a
            on last_runs.record_key = after_a.record_key and last_runs.last_number_a = after_a.run_number
        left join upserts as after_b
            on last_runs.record_key = after_b.record_key and last_runs.last_number_b = after_b.run_number

    ),

    payload_pairs as (

        select
            record_key,
            payload_a,
            payload_b
        from records
        where are_objects and payload_a <> payload_b

    ),

    changed_fields as (
        {{ synctrail.changed_json_fields('payload_pairs', 'record_key', 'payload_a', 'payload_b') }}
    )

    select
        source_system,
        sync_id,
        record_identifier,
        case when log_key_a is null then 'added' else 'removed' end as change_type,
        cast(null as {{ dbt.type_string() }}) as field_name,
        payload_a as old_value,
        payload_b as new_value
    from records
    where (log_key_a is null) <> (log_key_b is null)

    union all

    select
        records.source_system,
        records.sync_id,
        records.record_identifier,
        changed_fields.change_type,
        changed_fields.field_name,
        changed_fields.old_value,
        changed_fields.new_value
    from changed_fields
    inner join records on changed_fields.record_key = records.record_key
{% endmacro %}
