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

{# https://cloud.google.com/bigquery/docs/reference/standard-sql/array_functions#generate_date_array #}
{% macro bigquery__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        spine_date
    from {{ relation }}
    cross join unnest(generate_date_array({{ first_date }}, {{ last_date }})) as spine_date
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

{#
    generate_series runs on the leader node alone, and meets no table: five digits count the days instead, which is
    270 years. https://docs.aws.amazon.com/redshift/latest/dg/c_sql-functions-leader-node.html
#}
{% macro redshift__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        cast(dateadd(day, days.number, {{ first_date }}) as date) as spine_date
    from {{ relation }}
    inner join (
        select
            {%- for place in range(5) %}
            {{ 10 ** place }} * digit_{{ place }}.digit{{ ' +' if not loop.last }}
            {%- endfor %} as number
        from (
            {%- for digit in range(10) %}
            select {{ digit }} as digit{{ ' union all' if not loop.last }}
            {%- endfor %}
        ) as digit_0
        {%- for place in range(1, 5) %}
        cross join (
            {%- for digit in range(10) %}
            select {{ digit }} as digit{{ ' union all' if not loop.last }}
            {%- endfor %}
        ) as digit_{{ place }}
        {%- endfor %}
    ) as days on days.number <= datediff(day, {{ first_date }}, {{ last_date }})
    where days.number <= (select max(datediff(day, {{ first_date }}, {{ last_date }})) from {{ relation }})
{% endmacro %}

{# https://docs.snowflake.com/en/sql-reference/functions/array_generate_range, whose end is left out #}
{% macro snowflake__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        cast(dateadd(day, days.value, {{ first_date }}) as date) as spine_date
    from {{ relation }},
        lateral flatten(
            input => array_generate_range(0, datediff(day, {{ first_date }}, {{ last_date }}) + 1)
        ) as days
{% endmacro %}

{% macro spark__date_spine(relation, columns, first_date, last_date) %}
    select
        {{ columns | join(',\n        ') }},
        explode(sequence({{ first_date }}, {{ last_date }}, interval 1 day)) as spine_date
    from {{ relation }}
{% endmacro %}
