{# A number as text for a sentence, rounded to a whole one. #}
{% macro whole_number_text(number) %}
    {{- return(
        'cast(cast(round(' ~ number ~ ') as ' ~ dbt.type_bigint() ~ ') as ' ~ dbt.type_string() ~ ')'
    ) -}}
{% endmacro %}

{# A share between 0 and 1 as text for a sentence: `75 %`. #}
{% macro percent_text(share) %}
    {{- return(dbt.concat([synctrail.whole_number_text('100 * ' ~ share), "' %'"])) -}}
{% endmacro %}
