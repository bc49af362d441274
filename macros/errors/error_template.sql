{#
    The message with the record's own values replaced by placeholders, so that one error on many records is one
    text. Codes and status numbers stay. Null for a null message.

    A message may be a whole web page: its first 4,000 characters are read, and the template's first 1,000 kept,
    so that where the reading stopped does not show in the template.
#}
{% macro error_template(message) %}
    {%- set ns = namespace(text='substring(' ~ message ~ ', 1, 4000)') -%}
    {%- for code in (9, 10, 13) -%}
        {%- set ns.text = 'replace(' ~ ns.text ~ ', chr(' ~ code ~ "), ' ')" -%}
    {%- endfor -%}
    {%- for pattern, replacement in synctrail.error_template_steps() -%}
        {%- set ns.text = synctrail.regexp_replace(ns.text, pattern, replacement) -%}
    {%- endfor -%}
    {{- return('substring(trim(' ~ ns.text ~ '), 1, 1000)') -}}
{% endmacro %}

{#
    What error_template replaces, in this order. Alternatives are told apart by what follows them, never by which
    comes first: Java and RE2 take the first that fits, POSIX the longest.
#}
{% macro error_template_steps() %}
    {%- set values = synctrail.error_value_patterns() -%}
    {%- set text_key = '[A-Za-z_]*([Mm]essage|[Mm]sg|[Dd]etail|[Ee]rrors?|[Rr]eason|[Tt]itle|[Tt]ype|[Ss]ummary|[Ee]rr)' -%}
    {%- set months = '(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*' -%}
    {%- set sentence = '([^"{} ]+ [^" ]+ [^" ]+[^"]*)' -%}
    {%- set name = '[A-Za-z0-9_.-]+' -%}
    {{- return([
        ('(\\\\[nrt])+', ' '),
        ('\\\\{2,}"', '`'),
        ('\\\\"', "'"),
        ('~', ''),
        (' +', ' '),

        ('^.*' ~ text_key ~ '"? ?(:|=>) ?\\[?"' ~ sentence ~ '("|$).*$', '\\3'),
        ("^.*" ~ text_key ~ "['\"]? ?: ?\\[? ?u?'([^' ]+ [^' ]+ [^' ]+[^']*)'.*$", '\\2'),
        ('^.*"[Dd]escription" ?: ?"' ~ sentence ~ '("|$).*$', '\\1'),
        ('^.*<(title|h1)>([^<]+)</(title|h1)>.*$', '\\2'),
        ('^.*, message: ([^ ]+ [^ ]+ [^ ]+.*)$', '\\1'),
        ('^([^"{}]*(returned |: ))?"([^" ]+ [^" ]+ [^" ]+ [^" ]+ [^" ]+ [^" ]+ [^"]*)("|$).*$', '\\3'),
        ('^.*first error: ', ''),
        ('^.*(An error occurred \\([A-Za-z]+\\))', '\\1'),
        ('[.] User: .*$', ''),
        ('^.* API error: ', ''),
        ('^.*(InvalidBatch : )', '\\1'),
        ('[.] Batch will not be retried[.]?$', ''),
        ('^[^"{}]{0,80}(ERROR|FEHLER|ОШИБКА): *', ''),
        (' during [A-Za-z0-9_ ]+ response transformation.*$', ''),
        (' *\\((SQLSTATE [0-9A-Z]+\\).*|[0-9]+ ?m?s\\))$', ''),
        ('(([Vv]alid|[Aa]llowed|[Pp]ossible|[Aa]ccepted|[Pp]ermitted) (options|values|choices)( are)?): .*$', '\\1'),
        ('[A-Za-z0-9 _/]+: (bad value for restricted picklist field): .*$', '\\1'),
        ('^[A-Za-z][A-Za-z_0-9]*(([.]|::)[A-Za-z_0-9]+)+: ', ''),
        ('^[a-z]+[A-Z][A-Za-z]+: ([^ ]+ [^ ]+ [^ ]+)', '\\1'),
        ('^ *\\([a-z0-9_]+([.][A-Za-z_0-9]+)+\\) *', ''),
        ('^ *\\{? ?\\[?[A-Z][A-Za-z]+(Error|Exception): ', ''),
        ('^ *(Error|FATAL|pq)(:| ) *', ''),
        ('^([0-9]{5}):? ([A-Za-z])', '\\2'),
        ('^[^"{}]*, [A-Z][A-Za-z]+Exception: ', ''),
        ('^[A-Z][A-Z0-9]*_[A-Z0-9_]+[:,] *([^ ]+ [^ ]+ [^ ]+)', '\\1'),
        ('^([A-Z][A-Z0-9]*_[A-Z0-9_]+)[:,] *', '\\1: '),
        (' +status code: [0-9]+, request id: .*$', ''),
        ('[.]* +[A-Z][a-z]+ responded with error code: [0-9]+.*$', ''),
        ('(duplicate key error) collection: .*$', '\\1'),
        ('^[A-Za-z0-9_]+: (execution of |System[.])', '\\1'),
        ('^(Property value )?[^ ]+( [^ ]+)? (is not a valid |(was|is) not one of )', '<value> \\3'),
        (' for field [A-Za-z0-9_]+( in entity [A-Za-z0-9_]+)?$', ''),
        (' *(:[A-Za-z0-9_ ,]*)? ?--$', ''),
        ('( *: *\\[[^]]*\\])+ *(\\([a-z]+\\))?$', ''),
        ('([^A-Za-z ]) *(Detail|DETAIL|HINT|Hint|CONTEXT): .*$', '\\1'),
        (' +(DETAIL|HINT|CONTEXT): .*$', ''),
        (" +(File '[^']*', line|at [a-z_]+\\[[0-9]+\\]).*$", ''),

        ('[a-z0-9]+://[^] "\'<>,)`]+', '<url>'),
        (values.email, '<email>'),
        ('arn:[a-z-]+:[^ "\',]+', '<id>'),
        (values.uuid, '<id>'),
        ('[0-9]{4}-[0-9]{2}-[0-9]{2}([T ][0-9]{2}:[0-9]{2}(:[0-9]{2})?([.][0-9]+)?)?( ?(Z|UTC|[+-][0-9]{2}:?[0-9]{2}))?', '<timestamp>'),
        ('[0-9]{1,2}[ -]' ~ months ~ '[ -][0-9]{2,4}|' ~ months ~ ' [0-9]{1,2},? [0-9]{4}|[0-9]{1,2}/[0-9]{1,2}/[0-9]{2,4}', '<timestamp>'),
        ('[0-9]{1,2}:[0-9]{2}:[0-9]{2}([.][0-9]+)?', '<timestamp>'),
        ('[0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}[.][0-9]{1,3}(:[0-9]+)?', '<ip>'),

        ('" ?: +', '":'),
        ('([,{}]|\\[) +(["{}])', '\\1\\2'),
        ('(["}]) +([]}])', '\\1\\2'),
        ('("[A-Za-z_]*([Ii]d|ID|[Ii]nstance|[Tt]race|[Hh]andle|[Ee]mail|[Ii]ndex)s?":)("[^"]*"|[0-9]+)', '\\1<value>'),
        ("(^|[^A-Za-z0-9])'[^']*'", '\\1<value>'),
        ('([ (=])"[^"]*"', '\\1<value>'),
        ('^"[^"]*" ', '<value> '),
        ('`[^`]*`|«[^»]*»|»[^«]*«|“[^”]*”', '<value>'),

        ('([Cc]ode|CODE|[Ss]tatus|[Ee]rrno|[Ee]rror|HTTP|http|SQLSTATE|[Ss]tate)(["\']?[ :=(#]{0,3}\\[?["\']?)([0-9]{2,7})', '\\1\\2~\\3'),
        ('(^|[ (:="])([45][0-9][0-9])([ ,:;.)"}<]|$)', '\\1~\\2\\3'),
        ('= ?(\\([^)]*\\)|[A-Za-z0-9<][A-Za-z0-9._<>+-]*)', '=<value>'),
        ('[A-Za-z0-9]{6,}[0-9][A-Za-z0-9]{6,}', '<id>'),
        ('(^|[^A-Za-z0-9_~])[0-9a-f-]*([0-9][a-f]|[a-f][0-9])[0-9a-f-]*([^A-Za-z0-9_]|$)', '\\1<id>\\3'),
        ('(^|[^A-Za-z0-9_])[A-Za-z]+[_-]([a-z]+[_-])?[0-9]{2,}', '\\1<id>'),
        ('([a-z])[.][0-9]+([.]|$)', '\\1.<number>\\2'),
        ('(^|[^A-Za-z0-9~_#.])[-+]?[0-9]+([.,][0-9]+)*', '\\1<number>'),
        ('((no such|unknown|invalid|duplicate|missing|update|mapped|input|required|in) (field|column|attribute|property|parameter)s?( name)?|not found|deleted|specified) ?: ?' ~ name ~ '(, ' ~ name ~ ')*( [A-Za-z0-9]+__c)?', '\\1: <value>'),
        ('([Tt]he )[A-Za-z0-9_.]+ (field|property|attribute|column|parameter)', '\\1<value> \\2'),
        ('([Ii]nvalid [A-Za-z_ ]{1,30}): ?[^ :]+([.] |$)', '\\1: <value>\\2'),
        ('(property|field|column|attribute|parameter|name|ID|specified|path)( |: ?)[A-Za-z0-9/]*[_/][A-Za-z0-9_/]*', '\\1\\2<value>'),
        (': [^ ]+ not found', ': <value> not found'),
        (' of relation <value>', ''),
        (' for consumer( <value>)?[.]?$', ''),
        ('^merge_fields[.][A-Z0-9_]+ : ([^/]+) /.*$', '\\1'),
        ('(A|An) [a-z]+ with id ', 'A <value> with id '),
        ('(ID|Id|id|name) (<number>|<id>)', '\\1 <value>'),
        ('(^|[ (:])\\[[^]":]*[a-z0-9][^]":]*\\]', '\\1[<value>]'),
        ('(<value>|<id>|<number>)((, ?| or | and |, or |, and )(<value>|<id>|<number>))+', '\\1'),

        ('~', ''),
        (' +', ' '),
        ('(: <value>|[ .,;])+$', '')
    ]) -}}
{% endmacro %}
