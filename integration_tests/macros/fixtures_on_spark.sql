{# dbt writes the rows of a fixture as a union, which Spark reads with a task for each row. As one table of values they
   are one task. #}
{% macro get_fixture_sql(rows, column_name_to_data_types) -%}
  {%- if target.type not in ('spark', 'databricks') or not rows -%}
    {{ return(dbt.get_fixture_sql(rows, column_name_to_data_types)) }}
  {%- endif -%}
  {%- set types = dict(column_name_to_data_types or {}) -%}
  {%- for column in adapter.get_columns_in_relation(this) if not column_name_to_data_types -%}
    {%- do types.update({column.name | lower: column.data_type}) -%}
  {%- endfor -%}
  {{ fixture_values(rows, types, columns=types) }}
{%- endmacro %}

{% macro get_expected_sql(rows, column_name_to_data_types, column_name_to_quoted) -%}
  {%- if target.type not in ('spark', 'databricks') or not rows -%}
    {{ return(dbt.get_expected_sql(rows, column_name_to_data_types, column_name_to_quoted)) }}
  {%- endif -%}
  {{ fixture_values(rows, column_name_to_data_types, columns=rows[0]) }}
{%- endmacro %}

{# What a row does not say is null. #}
{% macro fixture_values(rows, types, columns) -%}
  {%- set nulls = dbt.format_row(dict.fromkeys(columns), types) -%}
select * from values
  {%- for row in rows %}
  ({{ dict(nulls, **dbt.format_row(row, types)).values() | join(', ') }}){{ ',' if not loop.last }}
  {%- endfor %}
  as fixture ({{ nulls.keys() | join(', ') }})
{%- endmacro %}
