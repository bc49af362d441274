{# Fails with what a variable is and what it may be. #}
{% macro wrong_variable(name, value, allowed) %}
    {{- exceptions.raise_compiler_error(
        'The variable ' ~ name ~ ' is ' ~ (value | tojson) ~ '. Allowed: ' ~ allowed ~ '.'
    ) -}}
{% endmacro %}
