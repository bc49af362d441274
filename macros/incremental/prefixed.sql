{# A select list of columns of one relation: `attempts.log_id, attempts.sync_id`. #}
{% macro prefixed(relation, columns) %}
    {{- return(relation ~ '.' ~ columns | join(', ' ~ relation ~ '.')) -}}
{% endmacro %}
