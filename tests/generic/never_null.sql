{# In no row is any of these columns null. One query for all of them, where not_null takes one a column. #}
{% test never_null(model, columns) %}

select {{ columns | join(', ') }}
from {{ model }}
where {{ columns | join(' is null or ') }} is null

{% endtest %}
