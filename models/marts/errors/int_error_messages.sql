{{ config(**synctrail.incremental_config('message_key', cluster_by='message_key')) }}

{%- set rules_fingerprint = synctrail.error_rules_fingerprint() %}

with runs as (

    select
        destination,
        {{ synctrail.run_key() }} as run_key
    from {{ ref('sync_runs') }}

),

{# The same message comes with many records: each is judged once. -#}
messages as (

    select distinct
        coalesce(changelog.failure_reason, 'No message') as message,
        runs.destination
    from {{ ref('int_sync_changelog') }} as changelog
    inner join runs on changelog.run_key = runs.run_key
    where changelog.status in ('rejected', 'invalid') and not changelog._is_deleted

),

{# Each is held against hundreds of patterns. -#}
new_messages as (

    select {{ synctrail.spread_hint() }}
        messages.message,
        messages.destination
    from messages
    {%- if synctrail.is_incremental_build() %}
    left join {{ this }} as stored
        on {{ synctrail.error_message_key('messages.message', 'messages.destination') }} = stored.message_key
        and stored._rules_fingerprint = {{ rules_fingerprint }}
    where stored.message_key is null
    {%- endif %}

),

categories as (
    {{ synctrail.error_categories('new_messages') }}
),

templates as (

    select
        *,
        {{ synctrail.error_template('message') }} as message_template
    from categories

),

judged_messages as (

    select
        *,
        case when message_template = '' then 'No message' else message_template end as error_template
    from templates

)

select
    {{ synctrail.error_message_key('message', 'destination') }} as message_key,
    message,
    destination,
    error_template,
    {{ dbt.hash('error_template') }} as error_fingerprint,
    category,
    is_retryable,
    suggested_action,
    {{ rules_fingerprint }} as _rules_fingerprint,
    {{ synctrail.build_id() }} as _build_id
from judged_messages
