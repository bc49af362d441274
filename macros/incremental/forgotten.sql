{#
    The salts of the records that were forgotten since the model's own table was last built, as a list of literals: an
    empty one where nobody was. A day is added, as the loader's clock may be another.
#}
{% macro new_forgotten_salts(forgotten_records) %}
    {%- set query = 'select salt from ' ~ forgotten_records ~ ' as forgotten' -%}
    {%- set newest_build_id = synctrail.newest_build_id() -%}
    {%- if newest_build_id -%}
        {%- set last_build = modules.datetime.datetime.fromisoformat(newest_build_id) -%}
        {%- set since = last_build - modules.datetime.timedelta(days=1) -%}
        {%- set query = query ~ ' where forgotten_at > '
            ~ synctrail.timestamp_literal(since.strftime('%Y-%m-%d %H:%M:%S.%f')) -%}
    {%- endif -%}
    {{- return(synctrail.literals(query)) -}}
{% endmacro %}

{#
    What a tombstone does not keep: all that a person could be known by. Their keys stay, as hashes, so that the tables
    downstream learn which of their own rows must go.
#}
{% macro personal_columns() %}
    {{- return([
        'record_identifier', 'row_id', 'record_payload', 'fields', 'status_message', 'failure_reason', 'message',
        'error_template', 'old_value', 'new_value'
    ]) -}}
{% endmacro %}

{#
    For int_record_errors, once it is built: SQL that erases the messages that no error has any longer, since they may
    name whom somebody wants forgotten; nothing where the log has never lost a row.
#}
{% macro erase_unused_messages(sync_log, messages) %}
    {%- if synctrail.is_incremental_build()
        and synctrail.has_rows('select 1 as one from ' ~ sync_log ~ ' as sync_log where _is_deleted') %}
        {{- synctrail.delete_all_but(
            messages, 'message_key', 'select distinct message_key from ' ~ this ~ ' where not _is_deleted'
        ) -}}
    {%- endif -%}
{% endmacro %}
