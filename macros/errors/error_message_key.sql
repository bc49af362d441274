{# What tells judged messages apart: the message and where it comes from. #}
{% macro error_message_key(message, destination) %}
    {{- return(synctrail.hash_key([message, "coalesce(" ~ destination ~ ", '')"])) -}}
{% endmacro %}
