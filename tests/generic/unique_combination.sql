{# No two rows share the values of all these columns; nulls count as equal. #}
{% test unique_combination(model, columns) %}

select
    {{ columns | join(',\n    ') }},
    count(*) as n_rows
from {{ model }}
group by {{ columns | join(', ') }}
having count(*) > 1

{% endtest %}
