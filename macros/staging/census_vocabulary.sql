{#
    The words of Census's status column as the package's. `NULL` and `DUPLICATE` are texts that Census writes for rows
    that are invalid in the source and were never sent; an SQL null is taken as the first.
    https://docs.getcensus.com/syncs/sync-monitoring/sync-tracking
#}
{% macro census_status(status) %}
    case
        when {{ status }} is null then 'invalid'
        when lower(trim({{ status }})) in ('null', 'duplicate') then 'invalid'
        when lower(trim({{ status }})) in ('succeeded', 'rejected') then lower(trim({{ status }}))
        else 'unknown'
    end
{% endmacro %}

{% macro census_invalid_reason(status) %}
    case
        when {{ status }} is null or lower(trim({{ status }})) = 'null' then 'null_identifier'
        when lower(trim({{ status }})) = 'duplicate' then 'duplicate_identifier'
    end
{% endmacro %}
