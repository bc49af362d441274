{# What `moment` reads as a date and time must be one; other text is SQL, which the warehouse judges. #}
{% macro check_moment(name) %}
    {%- set text = var(name) | string | trim -%}
    {%- set iso = '[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6})?)?(Z|[+-][0-9]{2}:[0-9]{2})?)?$' -%}
    {%- if modules.re.match('[0-9]', text) and not modules.re.match(iso, text) -%}
        {{- synctrail.wrong_variable(
            name, var(name), "null, or a date and time such as '2025-12-31' or '2025-12-31 18:00:00'"
        ) -}}
    {%- endif -%}
{% endmacro %}
