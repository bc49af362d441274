{{ config(**synctrail.table_config()) }}

{%- set sync_error = ['sync_key', 'error_fingerprint'] -%}
{%- set judgement = ['category', 'is_retryable', 'suggested_action'] %}

with errors as (

    select * from {{ ref('int_record_errors') }}
    where not _is_deleted

),

failed_records as (

    select * from {{ ref('int_failed_records') }}
    where not _is_deleted

),

syncs as (

    select * from {{ ref('int_syncs') }}

),

errors_by_record as (

    select
        sync_key,
        error_fingerprint,
        record_key,
        max(case when resolved_at is null then 1 else 0 end) as is_unresolved
    from errors
    where record_key is not null
    group by sync_key, error_fingerprint, record_key

),

records as (

    select
        sync_key,
        error_fingerprint,
        count(*) as n_records,
        sum(1 - is_unresolved) as n_resolved_records
    from errors_by_record
    group by sync_key, error_fingerprint

),

open_records as (

    select
        errors.sync_key,
        errors.error_fingerprint,
        count(*) as n_open_records
    from failed_records
    inner join errors on failed_records.log_key = errors.log_key
    group by errors.sync_key, errors.error_fingerprint

),

{# Messages of one template may be judged differently, by what it leaves out: most of them decide. -#}
judgements as (

    select
        *,
        row_number() over (
            partition by sync_key, error_fingerprint
            order by n_errors desc, {{ judgement | join(' asc, ') }} asc
        ) as place
    from (
        select
            {{ (sync_error + judgement) | join(',\n            ') }},
            count(*) as n_errors
        from errors
        group by {{ (sync_error + judgement) | join(', ') }}
    ) as counted

),

examples as (

    select
        errors.sync_key,
        errors.error_fingerprint,
        errors.error_template,
        errors.message,
        errors.record_identifier,
        errors.category,
        errors.is_retryable,
        errors.suggested_action,
        row_number() over (
            partition by errors.sync_key, errors.error_fingerprint
            order by
                case when errors.occurred_at is null then 0 else 1 end desc,
                errors.occurred_at desc,
                errors.log_id asc
        ) as place
    from errors
    inner join judgements
        on errors.sync_key = judgements.sync_key
        and errors.error_fingerprint = judgements.error_fingerprint
        {%- for column in judgement %}
        and errors.{{ column }} = judgements.{{ column }}
        {%- endfor %}
    where judgements.place = 1

),

totals as (

    select
        sync_key,
        error_fingerprint,
        count(*) as n_errors,
        count(distinct run_key) as n_runs,
        {{ synctrail.percentile(synctrail.seconds_between('occurred_at', 'resolved_at'), 0.5) }}
            as median_seconds_to_resolve,
        min(occurred_at) as first_seen_at,
        max(occurred_at) as last_seen_at
    from errors
    group by sync_key, error_fingerprint

),

summarized as (

    select
        totals.*,
        coalesce(records.n_records, 0) as n_records,
        coalesce(records.n_resolved_records, 0) as n_resolved_records,
        coalesce(open_records.n_open_records, 0) as n_open_records,
        sum(totals.n_errors) over (partition by totals.sync_key) as n_sync_errors
    from totals
    left join records
        on totals.sync_key = records.sync_key
        and totals.error_fingerprint = records.error_fingerprint
    left join open_records
        on totals.sync_key = open_records.sync_key
        and totals.error_fingerprint = open_records.error_fingerprint

)

select
    syncs.source_system,
    syncs.sync_id,
    syncs.audience_name,
    syncs.destination,
    summarized.error_fingerprint,
    examples.category,
    examples.is_retryable,
    examples.suggested_action,
    examples.error_template,
    examples.message as example_message,
    examples.record_identifier as example_record_identifier,
    {%- for column in [
        'n_errors', 'n_records', 'n_runs', 'n_open_records', 'n_resolved_records'
    ] %}
    cast(summarized.{{ column }} as {{ dbt.type_bigint() }}) as {{ column }},
    {%- endfor %}
    cast(summarized.median_seconds_to_resolve as {{ synctrail.type_double() }}) as median_seconds_to_resolve,
    summarized.first_seen_at,
    summarized.last_seen_at,
    cast(summarized.n_errors as {{ synctrail.type_double() }}) / summarized.n_sync_errors
        as share_of_sync_errors,
    cast(dense_rank() over (partition by summarized.sync_key order by summarized.n_records desc)
        as {{ dbt.type_bigint() }}) as rank_in_sync,
    cast(dense_rank() over (order by summarized.n_records desc) as {{ dbt.type_bigint() }}) as rank_overall
from summarized
inner join examples
    on summarized.sync_key = examples.sync_key
    and summarized.error_fingerprint = examples.error_fingerprint
inner join syncs on summarized.sync_key = syncs.sync_key
where examples.place = 1
