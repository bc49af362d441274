{#
    The start of this run as text that sorts by time. Every row that a build writes carries it as _build_id, so that a
    model downstream knows what is new to it. It is text because text compares alike in every warehouse and time zone.
#}
{% macro build_id() %}
    {{- return("'" ~ run_started_at.strftime('%Y-%m-%dT%H:%M:%S.%f') ~ "'") -}}
{% endmacro %}

{# The newest _build_id in the model's own table; none where it holds no row. #}
{% macro newest_build_id() %}
    {{- return(run_query('select max(_build_id) as newest from ' ~ this).columns[0].values()[0] if execute) -}}
{% endmacro %}

{#
    The same as a literal: what an upstream model wrote since is new to this one. Fetched first and inlined, so that
    warehouses prune by it.
#}
{% macro last_build_id() %}
    {{- return("'" ~ (synctrail.newest_build_id() or '') ~ "'") -}}
{% endmacro %}
