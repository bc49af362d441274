{#
    The "now" of every model that needs one, a timestamp: the variable synctrail_as_of, else the start of this run.
    The variable is ISO 8601 text; without an offset it is UTC.
#}
{% macro as_of() %}
    {%- do synctrail.check_moment('synctrail_as_of') -%}
    {{- return(synctrail.moment(var('synctrail_as_of') or run_started_at)) -}}
{% endmacro %}
