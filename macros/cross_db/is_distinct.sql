{# True where two values differ, a null being a value; never null. One spelling that every warehouse understands. #}
{% macro is_distinct(left, right) %}
    {{- return('coalesce(' ~ left ~ ' <> ' ~ right ~ ', not (' ~ left ~ ' is null and ' ~ right ~ ' is null))') -}}
{% endmacro %}

{# True where two rows differ in any of the columns. #}
{% macro rows_differ(left_relation, right_relation, columns) %}
    {%- set comparisons = [] -%}
    {%- for column in columns -%}
        {%- do comparisons.append(synctrail.is_distinct(left_relation ~ '.' ~ column, right_relation ~ '.' ~ column)) -%}
    {%- endfor -%}
    {{- return('(' ~ comparisons | join('\n            or ') ~ ')') -}}
{% endmacro %}
