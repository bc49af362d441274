{#
    A query with one row per row of `messages`, a relation or CTE with the columns message and destination:
    these two, and the category, is_retryable and suggested_action of the first rule that matches.

    A message's first 4,000 characters are matched in part: by the user's rules in lower case, by the package's as
    error_words writes them. A rule that names a destination holds where the row's destination contains that name,
    letters and digits alone compared:
    `google_ads` holds for `GoogleAds` and for `Google Ads Customer Match`.

    Nothing is read, and so every row is uncategorized, where dbt only parses or compiles without the warehouse.
#}
{% macro error_categories(messages) -%}
    {%- set own_rules = var('synctrail_error_rules', none) -%}
    {%- set kinds = [('package', 'message_words', 1)] + ([('own', 'message_text', 0)] if own_rules else []) -%}
    with rules as (
        {{ synctrail.error_rules() }}
    ),

    texts as (
        select
            message,
            destination,
            lower(substring(message, 1, 4000)) as message_text,
            {{ synctrail.error_words('substring(message, 1, 4000)') }} as message_words,
            coalesce({{ synctrail.regexp_replace('lower(destination)', '[^a-z0-9]+', '') }}, '') as destination_text
        from {{ messages }}
    ),

    {#- Held against hundreds of patterns: so each text once, and messages that differ in an id are one text here. #}
    {%- for kind, column, is_of_package in kinds %}
    {{ kind }}_texts as (
        select {{ synctrail.spread_hint() }} distinct
            {{ column }} as text,
            destination_text
        from texts
    ),

    {{ kind }}_rules as (
        {{ synctrail.first_error_rules(kind ~ '_texts', is_of_package) }}
    ),
    {% endfor %}
    matched as (
        select
            texts.message,
            texts.destination,
            {% if own_rules %}coalesce(own_rules.rule_number, package_rules.rule_number){% else %}package_rules.rule_number{% endif %} as rule_number
        from texts
        {%- for kind, column, is_of_package in kinds %}
        left join {{ kind }}_rules
            on texts.{{ column }} = {{ kind }}_rules.text and texts.destination_text = {{ kind }}_rules.destination_text
        {%- endfor %}
    )

    select
        matched.message,
        matched.destination,
        coalesce(rules.category, 'uncategorized') as category,
        coalesce(rules.is_retryable, false) as is_retryable,
        coalesce(
            rules.suggested_action, 'Read the message and add a rule of your own if it comes often.'
        ) as suggested_action
    from matched
    left join rules on matched.rule_number = rules.rule_number
{%- endmacro %}

{#
    The rows of `texts`, a CTE with the columns text and destination_text, each with the rule_number in `rules` of the
    first that matches: of the package's rules, or with is_of_package 0 of the user's.
#}
{% macro first_error_rules(texts, is_of_package) -%}
    {{ adapter.dispatch('first_error_rules', 'synctrail')(texts, is_of_package) }}
{%- endmacro %}

{#
    The rules are read before the model runs and become literals of one CASE: an expression that is compiled
    once and stops at the first match, and the only form that Redshift takes.
#}
{% macro default__first_error_rules(texts, is_of_package) -%}
    select
            text,
            destination_text,
            {{ synctrail.first_error_rule('text', 'destination_text', is_of_package) }} as rule_number
        from {{ texts }}
{%- endmacro %}

{#
    Postgres keeps 32 patterns compiled, and would compile each rule's again for each text: so here each rule looks
    at all texts. `offset 0` keeps the planner from turning that round.
#}
{% macro postgres__first_error_rules(texts, is_of_package) -%}
    select
            matches.text,
            matches.destination_text,
            min(rules.rule_number) as rule_number
        from rules
        cross join lateral (
            select text, destination_text
            from {{ texts }}
            where text ~ rules.pattern
                and (
                    rules.destination is null
                    or position(regexp_replace(lower(rules.destination), '[^a-z0-9]+', '', 'g') in destination_text) > 0
                )
            offset 0
        ) as matches
        where rules.is_of_package = {{ is_of_package }}
        group by matches.text, matches.destination_text
{%- endmacro %}

{% macro redshift__first_error_rules(texts, is_of_package) -%}
    {{ synctrail.default__first_error_rules(texts, is_of_package) }}
{%- endmacro %}

{#
    The text in lower case with its words one space apart, so that one pattern holds for InvalidEmail,
    INVALID_EMAIL, invalid-email and invalid email; and without what is the record's alone and never a code: its
    e-mail addresses, UUIDs and numbers of six digits or more.
#}
{% macro error_words(text) %}
    {%- set ns = namespace(text=text) -%}
    {%- for pattern, replacement in synctrail.error_words_steps() -%}
        {%- set ns.text = synctrail.regexp_replace(ns.text, pattern, replacement) -%}
    {%- endfor -%}
    {{- return('lower(' ~ ns.text ~ ')') -}}
{% endmacro %}

{% macro error_words_steps() %}
    {%- set values = synctrail.error_value_patterns() -%}
    {{- return([
        (values.email, '@'),
        (values.uuid, '0'),
        ('[0-9]{6,}', '0'),
        ('([a-z])([A-Z])', '\\1 \\2'),
        ('([A-Z][A-Z])([A-Z][a-z][a-z])', '\\1 \\2'),
        ('[ _-]+', ' ')
    ]) -}}
{% endmacro %}

{# The rule_number of the first rule that matches, or null. #}
{% macro first_error_rule(text, destination_text, is_of_package) -%}
    {#- Found once, as there are hundreds of rules. -#}
    {%- set regexp_like = adapter.dispatch('regexp_like', 'synctrail') -%}
    {%- set conditions = [] -%}
    {%- for rule_number, rule_is_of_package, destination, pattern in synctrail.readable_error_rules()
        if rule_is_of_package == is_of_package -%}
        {%- set condition = regexp_like(text, pattern) -%}
        {%- if destination -%}
            {%- set name = modules.re.sub('[^a-z0-9]+', '', destination | lower) -%}
            {%- set condition = destination_text ~ " like '%" ~ name ~ "%' and " ~ condition -%}
        {%- endif -%}
        {%- do conditions.append('when ' ~ condition ~ ' then ' ~ (rule_number | int)) -%}
    {%- endfor -%}
    {%- if conditions -%}
        case
                {{ conditions | join('\n                ') }}
            end
    {%- else -%}
        cast(null as {{ dbt.type_int() }})
    {%- endif -%}
{%- endmacro %}

{# The rules that the warehouse holds now; none before the seed is built or where dbt may not ask. #}
{% macro readable_error_rules() %}
    {%- if not (execute and flags.INTROSPECT) or load_relation(ref('synctrail', 'error_category_rules')) is none -%}
        {{- return([]) -}}
    {%- endif -%}
    {{- return(
        run_query(
            'select rule_number, is_of_package, destination, pattern from (' ~ synctrail.error_rules()
            ~ ') as numbered order by rule_number'
        ).rows
    ) -}}
{% endmacro %}
