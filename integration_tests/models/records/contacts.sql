select 'a' as contact_id
union all
select 'b' as contact_id
union all
select 'c' as contact_id
