{#
    A query: the rows of a source's table, out of every schema that the variables name. Whatever a warehouse lacks is
    filled in: an absent column is a typed null; an absent table has no rows, and is told of in one line of the log.

    text, timestamps, numbers, payloads: the columns to give, by kind. Ids are text whatever the table makes of them,
        times are UTC, payloads are JSON text
    synonyms: other names that a column is known by; of several that are there, the first that is not null counts
    ids: text columns that hold ids of the vendor's: a labelled schema has its label before them
    is_quiet: says nothing of absent tables, since another model does
    Result: these columns, then `_schema_label`, and `_schema_number` (1 for the first schema named)
#}
{% macro source_rows(
    source_name, table, text, timestamps=[], numbers=[], payloads=[], synonyms={}, ids=[], is_quiet=false
) %}
    {%- set branches = synctrail.source_tables(source_name, table, is_quiet) -%}
    {%- set kinds = [('text', text), ('timestamp', timestamps), ('number', numbers), ('payload', payloads)] -%}
    {%- for branch in branches or [{}] %}
    {%- set label = branch.get('label') %}
    select
        {%- for kind, names in kinds %}
        {%- for name in names %}
        {%- set values = [] %}
        {%- for spelling in [name] + synonyms.get(name, []) %}
            {%- if branch.get('columns') is none and spelling == name and branch %}
                {%- do values.append(synctrail.typed_column(kind, name, '')) %}
            {%- elif (branch.get('columns') or {}).get(spelling) %}
                {%- set column = branch['columns'][spelling] %}
                {%- do values.append(synctrail.typed_column(kind, adapter.quote(column.name), column.dtype)) %}
            {%- endif %}
        {%- endfor %}
        {%- set value = values[0] if values | length == 1 else 'coalesce(' ~ values | join(', ') ~ ')' %}
        {%- if not values %}
            {%- set value = 'cast(null as ' ~ synctrail.kind_type(kind) ~ ')' %}
        {%- elif label and name in ids %}
            {%- set value = dbt.concat([dbt.string_literal(dbt.escape_single_quotes(label) ~ ':'), value]) %}
        {%- endif %}
        {{ value }} as {{ name }},
        {%- endfor %}
        {%- endfor %}
        {% if label -%}
        {{ dbt.string_literal(dbt.escape_single_quotes(label)) }} as _schema_label
        {%- else -%}
        cast(null as {{ dbt.type_string() }}) as _schema_label
        {%- endif %},
        {{ branch.get('number', 1) }} as _schema_number
    {%- if branch %}
    from {{ branch['relation'] }}
    {%- else %}
    from (select 1 as nothing) as nothing
    where 1 = 0
    {%- endif %}
    {%- if not loop.last %}
    union all
    {%- endif %}
    {%- endfor %}
{% endmacro %}

{#
    The tables of this name that exist, one dictionary (relation, label, columns, number) a schema; columns by their
    names in lower case, or none where nobody can ask for them: while parsing, without introspection, and for the rows
    of a unit test.
#}
{% macro source_tables(source_name, table, is_quiet) %}
    {%- set declared = source(source_name, table) -%}
    {%- set locations = synctrail.source_locations(source_name) -%}
    {%- if not execute or not flags.INTROSPECT or declared.is_cte -%}
        {{- return([{'relation': declared, 'label': none, 'columns': none, 'number': 1}]) -}}
    {%- endif -%}
    {%- set tables = [] -%}
    {%- for location in locations -%}
        {%- set named = declared if loop.first else declared.replace_path(
            database=location['database'] or declared.database, schema=location['schema']
        ) -%}
        {%- set found = load_relation(named) -%}
        {%- if found is none and not is_quiet -%}
            {%- do log(
                'synctrail: ' ~ named ~ ', a table of the source ' ~ source_name ~ ', does not exist: it is read as empty.',
                info=true
            ) -%}
        {%- elif found is not none -%}
            {%- set columns = {} -%}
            {%- for column in adapter.get_columns_in_relation(found) -%}
                {%- do columns.update({column.name | lower: column}) -%}
            {%- endfor -%}
            {%- do tables.append({
                'relation': found, 'label': location['label'], 'columns': columns, 'number': loop.index
            }) -%}
        {%- endif -%}
    {%- endfor -%}
    {{- return(tables) -}}
{% endmacro %}

{# A column of any type as one of the kinds. #}
{% macro typed_column(kind, expression, data_type) %}
    {%- if kind == 'timestamp' and data_type | lower in ['text', 'string', 'varchar', 'character varying'] -%}
        {{- return(synctrail.text_to_utc_timestamp(expression)) -}}
    {%- elif kind == 'timestamp' -%}
        {{- return(synctrail.utc_timestamp(expression)) -}}
    {%- elif kind == 'payload' -%}
        {{- return(synctrail.payload_text(expression, data_type)) -}}
    {%- endif -%}
    {{- return('cast(' ~ expression ~ ' as ' ~ synctrail.kind_type(kind) ~ ')') -}}
{% endmacro %}

{% macro kind_type(kind) %}
    {{- return({
        'text': synctrail.type_text(), 'payload': synctrail.type_text(), 'number': dbt.type_bigint(),
        'timestamp': dbt.type_timestamp(), 'boolean': dbt.type_boolean()
    }[kind]) -}}
{% endmacro %}
