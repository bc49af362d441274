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
    with rules as (
        {{ synctrail.error_rules() }}
    ),

    texts as (
        select
            message,
            destination,
            lower(substring(message, 1, 4000)) as message_text,
            {{ synctrail.error_words('substring(message, 1, 4000)') }} as message_words,
            {{ synctrail.regexp_replace('lower(destination)', '[^a-z0-9]+', '') }} as destination_text
        from {{ messages }}
    ),

    matched as (
        {{ adapter.dispatch('matched_error_rules', 'synctrail')() }}
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
    The rows of `texts`, each with the number in `rules` of the first that matches.

    The rules are read before the model runs and become literals of one CASE: an expression that is compiled
    once and stops at the first match, and the only form that Redshift takes.
#}
{% macro default__matched_error_rules() -%}
    select
        message,
        destination,
        {{ synctrail.first_error_rule('message_text', 'message_words', 'destination_text') }} as rule_number
    from texts
{%- endmacro %}

{#
    Postgres keeps 32 patterns compiled, and would compile each rule's again for each message: so here each rule looks
    at all messages. `offset 0` keeps the planner from turning that round.
#}
{% macro postgres__matched_error_rules() -%}
    select
        texts.message,
        texts.destination,
        firsts.rule_number
    from texts
    left join (
        select
            matches.message,
            matches.destination,
            min(rules.rule_number) as rule_number
        from rules
        cross join lateral (
            select message, destination
            from texts
            where case when rules.is_of_package = 1 then message_words else message_text end ~ rules.pattern
                and (
                    rules.destination is null
                    or position(regexp_replace(lower(rules.destination), '[^a-z0-9]+', '', 'g') in destination_text) > 0
                )
            offset 0
        ) as matches
        group by matches.message, matches.destination
    ) as firsts
        on texts.message = firsts.message and texts.destination is not distinct from firsts.destination
{%- endmacro %}

{% macro redshift__matched_error_rules() -%}
    {{ synctrail.default__matched_error_rules() }}
{%- endmacro %}

{#
    The text in lower case with its words one space apart, so that one pattern holds for InvalidEmail,
    INVALID_EMAIL, invalid-email and invalid email.
#}
{% macro error_words(text) %}
    {%- set ns = namespace(text=text) -%}
    {%- for pattern, replacement in synctrail.error_words_steps() -%}
        {%- set ns.text = synctrail.regexp_replace(ns.text, pattern, replacement) -%}
    {%- endfor -%}
    {{- return('lower(' ~ ns.text ~ ')') -}}
{% endmacro %}

{% macro error_words_steps() %}
    {{- return([
        ('([a-z])([A-Z])', '\\1 \\2'),
        ('([A-Z][A-Z])([A-Z][a-z][a-z])', '\\1 \\2'),
        ('[ _-]+', ' ')
    ]) -}}
{% endmacro %}

{# The rule_number of the first rule that matches, or null. #}
{% macro first_error_rule(message_text, message_words, destination_text) -%}
    {#- Found once, as there are hundreds of rules. -#}
    {%- set regexp_like = adapter.dispatch('regexp_like', 'synctrail') -%}
    {%- set conditions = [] -%}
    {%- for rule_number, is_of_package, destination, pattern in synctrail.readable_error_rules() -%}
        {%- set condition = regexp_like(message_words if is_of_package else message_text, pattern) -%}
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
