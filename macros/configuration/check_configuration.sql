{#
    Fails where a variable is none that the package understands, by its name, its value and what is allowed. It runs
    when a dbt command starts, before any model does.
#}
{% macro check_configuration() %}
    {%- for source_name in synctrail.enabled_sources() -%}
        {%- do synctrail.source_locations(source_name) -%}
    {%- endfor -%}
    {%- do synctrail.check_number('synctrail_stale_factor', at_least=0) -%}
    {%- do synctrail.check_number('synctrail_alert_failed_records', at_least=0, at_most=1) -%}
    {%- do synctrail.check_number('synctrail_alert_runtime_seconds', at_least=0) -%}
    {%- do synctrail.check_number('synctrail_alert_deviation', at_least=0) -%}
    {%- do synctrail.check_number('synctrail_alert_deviation_runs', at_least=1, whole=true) -%}
    {%- do synctrail.check_number('synctrail_alert_full_sync_share', at_least=0, at_most=1) -%}
    {%- do synctrail.check_number('synctrail_alert_full_sync_members', at_least=0, whole=true) -%}
    {%- do synctrail.check_number('synctrail_flapping_entries', at_least=1, whole=true) -%}
    {%- do synctrail.check_choice('synctrail_allow_full_refresh', [true, false]) -%}
    {%- do synctrail.check_choice('synctrail_hightouch_audiences', [true, false]) -%}
    {%- if synctrail.reads_hightouch_audiences() -%}
        {%- do synctrail.source_locations('hightouch_planner') -%}
    {%- endif -%}
    {%- do synctrail.check_choice('synctrail_spark_file_format', ['delta', 'iceberg', 'parquet']) -%}
{% endmacro %}

{% macro check_number(name, at_least, at_most=none, whole=false) %}
    {%- set value = var(name) -%}
    {%- set is_number = value is number and value is not boolean -%}
    {%- if not is_number
        or value < at_least
        or (at_most is not none and value > at_most)
        or (whole and value is not integer) -%}
        {{- synctrail.wrong_variable(
            name,
            value,
            ('a whole number' if whole else 'a number')
            ~ (' from ' ~ at_least ~ ' to ' ~ at_most if at_most is not none else ' of at least ' ~ at_least)
        ) -}}
    {%- endif -%}
{% endmacro %}

{% macro check_choice(name, choices) %}
    {%- if var(name) not in choices or (var(name) is number and var(name) is not boolean) -%}
        {{- synctrail.wrong_variable(name, var(name), choices | map('tojson') | join(' or ')) -}}
    {%- endif -%}
{% endmacro %}
