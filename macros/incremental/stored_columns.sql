{#
    A select list of columns of the model's own table, `stored`. A column that a newer version of the package has
    added, and the table not yet, is null; so is in a tombstone what is personal.
#}
{% macro stored_columns(columns, is_tombstone=false) %}
    {%- set absent = synctrail.absent_columns(columns) -%}
    {%- set selected = [] -%}
    {%- for column in columns -%}
        {%- set is_null = column in absent or (is_tombstone and column in synctrail.personal_columns()) -%}
        {%- do selected.append('null as ' ~ column if is_null else 'stored.' ~ column) -%}
    {%- endfor -%}
    {{- return(selected | join(', ')) -}}
{% endmacro %}

{# Those of the columns that the model's own table does not have yet. #}
{% macro absent_columns(columns) %}
    {%- set known = [] -%}
    {#- A unit test gives rows in place of the table, each with all columns. -#}
    {%- if execute and flags.INTROSPECT and this is not string -%}
        {%- for column in adapter.get_columns_in_relation(this) -%}
            {%- do known.append(column.name | lower) -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return(columns | reject('in', known) | list if known else []) -}}
{% endmacro %}
