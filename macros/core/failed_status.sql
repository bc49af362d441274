{# sync_log's words for a status as sync_changelog and sync_snapshot say them, which are Hightouch's. #}
{% macro failed_status(status) %}
    {{- return("case when " ~ status ~ " in ('rejected', 'invalid') then 'failed' else " ~ status ~ " end") -}}
{% endmacro %}
