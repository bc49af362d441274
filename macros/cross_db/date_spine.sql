{#
    A query: one row for each row of a relation and each date from its first to its last, both included. A row whose
    first or last date is null has none.

    columns: the columns of the relation to carry along
    Result: these columns, then `spine_date` (date)
#}
{% macro date_spine(relation, columns, first_date, last_date) %}
    {{- return(adapter.dispatch('date_spine', 'synctrail')(relation, columns, first_date, last_date)) -}}
{% endmacro %}

{% macro default__date_spine(relation, columns, first_date, last_date) %}
    {{- synctrail.unsupported_adapter('date_spine') -}}
{% endmacro %}

{% macro duckdb__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        cast(unnest(generate_series({{ first_date }}, {{ last_date }}, interval 1 day)) as date) as spine_date
    from {{ relation }}
{% endmacro %}

{% macro postgres__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        cast(days.day as date) as spine_date
    from {{ relation }}
    cross join lateral generate_series(
        cast({{ first_date }} as timestamp), cast({{ last_date }} as timestamp), interval '1 day'
    ) as days (day)
{% endmacro %}

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/array_functions#generate_date_array #}
{% macro bigquery__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        spine_date
    from {{ relation }}
    cross join unnest(generate_date_array({{ first_date }}, {{ last_date }})) as spine_date
{% endmacro %}

{% macro spark__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        explode(sequence({{ first_date }}, {{ last_date }}, interval 1 day)) as spine_date
    from {{ relation }}
{% endmacro %}
