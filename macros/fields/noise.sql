{#
    Kinds of modifications that say nothing new, each a boolean over the values as text (old_value,
    new_value) and as JSON (old_json, new_json).
#}

{# Both are timestamps, on the same UTC date. #}
{% macro differs_within_a_date(old_value, new_value) %}
    {{- return(
        'coalesce(' ~ synctrail.utc_date(synctrail.text_to_utc_timestamp(old_value)) ~ ' = '
        ~ synctrail.utc_date(synctrail.text_to_utc_timestamp(new_value)) ~ ', false)'
    ) -}}
{% endmacro %}

{# Equal but for the case of letters and the amount of white space. #}
{% macro differs_in_case_or_space(old_value, new_value) %}
    {{- return(
        synctrail.without_case_and_space(old_value) ~ ' = ' ~ synctrail.without_case_and_space(new_value)
    ) -}}
{% endmacro %}

{% macro without_case_and_space(text) %}
    {{- return('lower(trim(' ~ synctrail.regexp_replace(text, '\\s+', ' ') ~ '))') -}}
{% endmacro %}

{#
    Both are numbers that differ by less than one part in a million of the greater. Of texts, decimal
    fractions alone are numbers: whole ones are ids as a rule.
#}
{% macro differs_in_precision(old_value, new_value, old_json, new_json) %}
    {%- set old_number = synctrail.number_or_null(old_value, old_json) -%}
    {%- set new_number = synctrail.number_or_null(new_value, new_json) -%}
    {%- set greater = 'greatest(abs(' ~ old_number ~ '), abs(' ~ new_number ~ '))' -%}
    {{- return(
        'coalesce(' ~ old_number ~ ' = ' ~ new_number
        ~ ' or abs(' ~ old_number ~ ' - ' ~ new_number ~ ') < ' ~ greater ~ ' / 1000000, false)'
    ) -}}
{% endmacro %}

{% macro number_or_null(value, json) %}
    {%- set is_number = synctrail.regexp_like(value, '^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]+)?$') -%}
    {{- return(
        'case when ' ~ is_number ~ " and (left(" ~ json ~ ", 1) <> '\"' or " ~ value ~ " like '%.%') then "
        ~ synctrail.try_cast(value, synctrail.type_double()) ~ ' end'
    ) -}}
{% endmacro %}
