-- What Redshift has and Postgres has not. A SUPER is a jsonb, which keeps the last of equal keys.

create schema look_alikes;
set search_path = look_alikes;

create function json_parse(text) returns jsonb language sql immutable as $$ select $1::jsonb $$;

create function can_json_parse(text) returns boolean language sql immutable as $$
    select pg_input_is_valid($1, 'jsonb')
$$;

-- Compact, and with the keys of objects in the order of their letters.
create function json_serialize(value jsonb) returns varchar language plpgsql immutable as $$
begin
    return case jsonb_typeof(value)
        when 'object' then (
            select '{' || coalesce(string_agg(
                to_json(member.key)::text || ':' || look_alikes.json_serialize(member.value), ','
                order by member.key collate "C"
            ), '') || '}'
            from jsonb_each(value) as member
        )
        when 'array' then (
            select '[' || coalesce(string_agg(look_alikes.json_serialize(item.value), ',' order by item.place), '') || ']'
            from jsonb_array_elements(value) with ordinality as item (value, place)
        )
        else value::text
    end;
end
$$;

create function super_text(jsonb) returns varchar language sql immutable as $$ select $1 #>> '{}' $$;

create function super_members(jsonb) returns table (value jsonb, name varchar) language sql immutable as $$
    select member.value, member.key::varchar from jsonb_each($1) as member
$$;

-- What dbt-redshift asks of the system catalog.
set allow_system_table_mods = on;

create function pg_get_late_binding_view_cols() returns setof record language sql as $$
    select null::name, null::name, null::name, null::varchar, null::int where false
$$;

create view pg_catalog.svv_external_columns as
select
    null::int as columnnum,
    null::varchar as schemaname,
    null::varchar as tablename,
    null::varchar as columnname,
    null::varchar as external_type
where false;

alter role postgres set search_path = "$user", public, look_alikes;
