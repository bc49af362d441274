{#
    A moment as a timestamp of the warehouse. Text that begins with a date is ISO 8601, in UTC unless it has an offset
    of its own (2025-12-31, 2025-12-31 18:00:00, 2025-12-31T18:00:00+01:00); so are Python's dates and times. Any other
    text is SQL for a UTC timestamp. None is the "now" of the models (as_of).
#}
{% macro moment(given) %}
    {%- if given is none -%}
        {{- return(synctrail.as_of()) -}}
    {%- endif -%}
    {%- set text = given | string | trim -%}
    {%- if not modules.re.match('[0-9]{4}-', text) -%}
        {{- return(text) -}}
    {%- endif -%}
    {%- set moment = modules.datetime.datetime.fromisoformat(text | replace('Z', '+00:00')) -%}
    {%- if moment.tzinfo -%}
        {%- set moment = moment.astimezone(modules.pytz.utc) -%}
    {%- endif -%}
    {{- return(synctrail.timestamp_literal(moment.strftime('%Y-%m-%d %H:%M:%S.%f'))) -}}
{% endmacro %}
