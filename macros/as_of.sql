{#
    The "now" of every model that needs one, a timestamp: the variable synctrail_as_of, else the start of this run.
    The variable is ISO 8601 text; without an offset it is UTC.
#}
{% macro as_of() %}
    {%- set moment = run_started_at -%}
    {%- if var('synctrail_as_of') -%}
        {%- set given = var('synctrail_as_of') | string | replace('Z', '+00:00') -%}
        {%- set moment = modules.datetime.datetime.fromisoformat(given) -%}
    {%- endif -%}
    {%- if moment.tzinfo -%}
        {%- set moment = moment.astimezone(modules.pytz.utc) -%}
    {%- endif -%}
    {{- return(synctrail.timestamp_literal(moment.strftime('%Y-%m-%d %H:%M:%S.%f'))) -}}
{% endmacro %}
