{# The shapes that the staging models of each source give; a model is named stg_<source>__<shape>. #}
{% macro source_shapes() %}
    {%- set census = ['attempts', 'runs', 'source_objects', 'destinations', 'destination_objects'] -%}
    {{- return({
        'census_lake': census,
        'census_writeback': census,
        'hightouch': ['attempts', 'runs'],
        'rudderstack': ['attempts']
    }) -}}
{% endmacro %}

{# The sources that are switched on, each once; anything else in the variable fails by name. #}
{% macro enabled_sources() %}
    {%- set supported = synctrail.source_shapes().keys() | list -%}
    {%- set given = var('synctrail_sources') -%}
    {%- set wrong = [] -%}
    {%- if given is string or given is not iterable or not given -%}
        {%- do wrong.append(given) -%}
    {%- else -%}
        {%- do wrong.extend(given | reject('in', supported)) -%}
    {%- endif -%}
    {%- if wrong -%}
        {{- synctrail.wrong_variable('synctrail_sources', given, 'a list out of ' ~ supported | join(', ')) -}}
    {%- endif -%}
    {{- return(given | unique | list) -}}
{% endmacro %}

{# True where the user lists the source: models of any other are not built. #}
{% macro reads_source(source_name) %}
    {{- return(source_name in synctrail.enabled_sources()) -}}
{% endmacro %}

{# True where the user wants what Hightouch records of audiences, beside its sync logs. #}
{% macro reads_hightouch_audiences() %}
    {{- return(synctrail.reads_source('hightouch') and var('synctrail_hightouch_audiences')) -}}
{% endmacro %}

{# The sources whose rows come in loads, each row with the load that brought it. #}
{% macro loaded_sources() %}
    {{- return(synctrail.enabled_sources() | select('equalto', 'census_lake') | list) -}}
{% endmacro %}

{# The sources whose rows vendors write into the warehouse, and prune there. #}
{% macro table_sources() %}
    {{- return(synctrail.enabled_sources() | reject('equalto', 'census_lake') | list) -}}
{% endmacro %}

{#
    Where a source's tables lie: one dictionary (database, schema, label) a schema that the variables name. A database
    of none is the target's own; a label of none leaves ids as the vendor wrote them.
#}
{% macro source_locations(source_name) %}
    {%- set prefix = 'synctrail_' ~ source_name -%}
    {%- set schemas = synctrail.text_or_list(prefix ~ '_schema') -%}
    {%- set databases = synctrail.text_or_list(prefix ~ '_database', allows_null=true) -%}
    {%- if databases | length == 1 -%}
        {%- set databases = databases * (schemas | length) -%}
    {%- elif schemas | length == 1 -%}
        {%- set schemas = schemas * (databases | length) -%}
    {%- elif schemas | length != databases | length -%}
        {{- synctrail.wrong_variable(
            prefix ~ '_database', var(prefix ~ '_database'),
            'null, a text, or a list as long as ' ~ prefix ~ '_schema'
        ) -}}
    {%- endif -%}
    {%- set labels = var('synctrail_schema_labels') -%}
    {%- if labels is not mapping -%}
        {{- synctrail.wrong_variable('synctrail_schema_labels', labels, 'a mapping of schemas to labels') -}}
    {%- endif -%}
    {%- set locations = [] -%}
    {%- for schema in schemas -%}
        {%- set database = databases[loop.index0] -%}
        {%- do locations.append({
            'database': database,
            'schema': schema,
            'label': labels.get((database or '') ~ '.' ~ schema, labels.get(schema))
        }) -%}
    {%- endfor -%}
    {{- return(locations) -}}
{% endmacro %}

{% macro text_or_list(name, allows_null=false) %}
    {%- set given = var(name) -%}
    {%- set values = [given] if given is none or given is string else given -%}
    {%- set wrong = [] -%}
    {%- if values is mapping or values is not iterable or not values -%}
        {%- do wrong.append(given) -%}
    {%- else -%}
        {%- for value in values if not (value is string and value or value is none and allows_null) -%}
            {%- do wrong.append(value) -%}
        {%- endfor -%}
    {%- endif -%}
    {%- if wrong -%}
        {{- synctrail.wrong_variable(name, given, ('null, ' if allows_null else '') ~ 'a text, or a list of texts') -}}
    {%- endif -%}
    {{- return(values | list) -}}
{% endmacro %}
