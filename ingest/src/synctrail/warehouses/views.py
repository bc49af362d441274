"""Contract tables that are views over the ledger and a load's staged rows: one text for every warehouse.

``{files}`` is the ledger with one row per file; ``{records}``, ``{metadata}`` and ``{facts}`` are the staged
rows. Rows and their file have ``load_id`` and ``file_key`` in common.
"""

# ruff: noqa: S608 - the names put into the texts are our own

from __future__ import annotations

from dataclasses import dataclass

from synctrail import contract


@dataclass(frozen=True)
class Dialect:
    """What is not written alike everywhere: as most warehouses have it.

    Args:
        row_hash: the hash of a row's file and place in it, as hexadecimal text.
        refresh_begins: parts of one fact table in one folder are one refresh if they were modified since.
        file_modified_at: the column of that name in ``sync_tracking_records``.

    """

    row_hash: str = "md5(concat(f.path, ':', r.row_no))"
    refresh_begins: str = "l.refreshed_at - interval '1 hour'"
    file_modified_at: str = "_file_modified_at"


COMMON = Dialect()


def records_view(files: str, records: str, dialect: Dialect = COMMON) -> str:
    """Return ``sync_tracking_records``: the rows of good files, each with what is known of its file."""
    return f"""
select /*+ broadcast(f) */
    coalesce(r.internal_id, {dialect.row_hash}) as log_id,
    f.org_id, f.sync_id, f.sync_run_id,
    r.record_identifier, r.record_payload, r.operation, r.status, r.status_message,
    r.batch_started_at, r.batch_completed_at, f.batch_type, f.batch_number, r._extra,
    f.path as _source_file, r.row_no as _source_row, f.modified_at as {dialect.file_modified_at},
    f.load_id as _load_id, f.loaded_at as _loaded_at
from {records} r
join {files} f on f.load_id = r.load_id and f.file_key = r.file_key
where r._outcome is null and f.status = '{contract.LOADED}'
"""


def small_views(files: str, metadata: str, facts: str, dialect: Dialect = COMMON) -> dict[str, str]:
    """Return the queries of the tables that are views in every warehouse, by name."""
    return {
        "sync_tracking_runs": runs_view(files, metadata),
        **{kind: fact_view(kind, files, facts, dialect) for kind in contract.FACT_KINDS},
    }


def runs_view(files: str, metadata: str) -> str:
    """Return ``sync_tracking_runs``: every run folder of which a file was seen, with its metadata if good."""
    return f"""
with seen as (
    select org_id, sync_id, sync_run_id, min(load_id) as first_load_id, min(loaded_at) as first_loaded_at
    from {files}
    where sync_run_id is not null
    group by org_id, sync_id, sync_run_id
),

described as (
    select f.org_id as path_org_id, f.sync_id as path_sync_id, f.sync_run_id as path_sync_run_id,
        f.path, f.loaded_at, m.*
    from {files} f
    join {metadata} m on m.load_id = f.load_id and m.file_key = f.file_key
    where f.kind = '{contract.RUN_METADATA}' and f.status = '{contract.LOADED}' and m._outcome is null
)

select
    s.org_id,
    d.workspace_id,
    s.sync_id,
    s.sync_run_id,
    d.source_type,
    d.source_id,
    d.source_object_id,
    d.destination_type,
    d.destination_id,
    d.destination_object_id,
    d.sync_run_started_at,
    d.record_payload_schema,
    d.metadata,
    d.path as _source_file,
    coalesce(d.load_id, s.first_load_id) as _load_id,
    coalesce(d.loaded_at, s.first_loaded_at) as _loaded_at
from seen s
left join described d
    on d.path_org_id = s.org_id and d.path_sync_id = s.sync_id and d.path_sync_run_id = s.sync_run_id
"""


def fact_view(kind: str, files: str, facts: str, dialect: Dialect = COMMON) -> str:
    """Return a fact table: each org's latest refresh.

    A refresh is one file, or the parts in one folder modified within an hour before its newest. The latest is
    the one whose newest file was modified last; of equal ones, the last by name. An id that occurs in several
    parts counts as the newest part has it.
    """
    columns = ", ".join(f"r.{name}" for name in contract.FACT_COLUMNS[kind])
    names = ", ".join(contract.FACT_COLUMNS[kind])
    return f"""
with refreshes as (
    select org_id, refresh, max(modified_at) as refreshed_at
    from {files}
    where kind = '{kind}' and status = '{contract.LOADED}'
    group by org_id, refresh
),

latest as (
    select org_id, refresh, refreshed_at,
        row_number() over (partition by org_id order by refreshed_at desc, refresh desc) as age_rank
    from refreshes
),

parts as (
    select f.org_id, f.path, f.load_id, f.loaded_at, f.file_key, f.modified_at
    from {files} f
    join latest l on l.org_id = f.org_id and l.refresh = f.refresh
    where l.age_rank = 1 and f.kind = '{kind}' and f.status = '{contract.LOADED}'
        and f.modified_at >= {dialect.refresh_begins}
),

fact_rows as (
    select {columns}, p.org_id, p.path as _source_file, p.load_id as _load_id, p.loaded_at as _loaded_at,
        row_number() over (
            partition by p.org_id, r.id order by p.modified_at desc, p.path desc, r.row_no desc
        ) as version
    from {facts} r
    join parts p on r.load_id = p.load_id and r.file_key = p.file_key
    where r._outcome is null
)

select {names}, org_id, _source_file, _load_id, _loaded_at
from fact_rows
where version = 1 or id is null
"""
