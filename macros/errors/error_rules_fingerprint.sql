{#
    A hash of all that decides an error's category and template: the rules that the warehouse holds now, and the
    steps of error_words and error_template. Rows that carry another one were judged by other rules.
#}
{% macro error_rules_fingerprint() %}
    {%- set ns = namespace(text=synctrail.error_words_steps() | string ~ synctrail.error_template_steps() | string) -%}
    {%- if execute and flags.INTROSPECT and load_relation(ref('synctrail', 'error_category_rules')) is not none -%}
        {%- set rules = run_query('select * from (' ~ synctrail.error_rules() ~ ') as numbered order by rule_number') -%}
        {%- for rule in rules.rows -%}
            {%- set ns.text = ns.text ~ (rule.values() | join('\n')) ~ '\n' -%}
        {%- endfor -%}
    {%- endif -%}
    {{- return("'" ~ local_md5(ns.text) ~ "'") -}}
{% endmacro %}
