{#
    The distinct values of a query's one column of text, as a list of literals. Fetched first and inlined, so that
    warehouses prune by them.

    at_most: none, which is no restriction, where there are more values than this
#}
{% macro literals(query, at_most=none) %}
    {%- set literals = [] -%}
    {%- if execute -%}
        {%- for value in run_query('select distinct * from (' ~ query ~ ') as listed').columns[0].values() -%}
            {%- do literals.append(dbt.string_literal(value)) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(none if at_most is not none and literals | length > at_most else literals) -}}
{% endmacro %}

{# A condition: the expression has one of these values, as the macro above gives them. #}
{% macro among(expression, literals) %}
    {{- return('1 = 1' if literals is none else expression ~ ' in (' ~ (literals or ["''"]) | join(', ') ~ ')') -}}
{% endmacro %}
