{# How values are written that are a record's own wherever they stand: by their name, a pattern. #}
{% macro error_value_patterns() %}
    {{- return({
        'email': '[A-Za-z0-9._%+*-]+@[A-Za-z0-9*.-]*[A-Za-z0-9*]',
        'uuid': '[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}'
    }) -}}
{% endmacro %}
