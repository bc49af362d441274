{#
    A JSON value (compact, keys sorted) as text that is the same for values that are equal as JSON: whole
    numbers lose their `.0`, wherever in the value they are. Text inside strings is matched first, and kept.
#}
{% macro json_comparable(json) %}
    {%- set whole_numbers = synctrail.regexp_replace(
        json, '("([^"\\\\]|\\\\.)*")|(-?[0-9]+)[.]0([,}\\]]|$)', '\\1\\3\\4'
    ) -%}
    {{- return(
        "case when left(" ~ json ~ ", 1) = '\"' or " ~ json ~ " not like '%.0%' then " ~ json
        ~ " when " ~ json ~ " = '-0.0' then '0' else " ~ whole_numbers ~ " end"
    ) -}}
{% endmacro %}
