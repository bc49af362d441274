"""What the loader needs of a warehouse, and what it hands over to be made visible in one step."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
from pyspark.sql import DataFrame

from synctrail.columns import TIMESTAMP
from synctrail.plan import LEDGER_SCHEMA
from synctrail.stage import FACTS, RUN_METADATA, StagedTable

LOAD_ID = pa.field("load_id", pa.string())
"""What rows that are staged have in common with the ledger, beside their file's key."""

FILES_SCHEMA = pa.schema(
    {
        "path": pa.string(),
        "size_bytes": pa.int64(),
        "modified_at": TIMESTAMP,
        "kind": pa.string(),
        "status": pa.string(),
        "reason": pa.string(),
        "detail": pa.string(),
        "row_count": pa.int64(),
        "load_id": pa.string(),
        "loaded_at": TIMESTAMP,
        "org_id": pa.string(),
        "sync_id": pa.string(),
        "sync_run_id": pa.string(),
        "batch_type": pa.string(),
        "batch_number": pa.int32(),
        "refresh": pa.string(),
        "file_key": pa.int64(),
    }
)
"""The ledger: the contract's ``load_files``, then what a file's path says and the key of its staged rows."""

HISTORY_SCHEMA = pa.schema(
    {
        "load_id": pa.string(),
        "lake": pa.string(),
        "started_at": TIMESTAMP,
        "finished_at": TIMESTAMP,
        "files_seen": pa.int64(),
        "files_loaded": pa.int64(),
        "files_quarantined": pa.int64(),
        "rows_loaded": pa.int64(),
        "bytes_read": pa.int64(),
        "status": pa.string(),
    }
)

FORGOTTEN_SCHEMA = pa.schema(
    {
        "sync_id": pa.string(),
        "identifier_hash": pa.string(),
        "salt": pa.string(),
        "forgotten_at": TIMESTAMP,
        "load_id": pa.string(),
    }
)
"""``forgotten_records``: one row per record that was erased; ``sync_id`` is null for one of every sync."""


RECORDS_TABLE_SCHEMA = pa.schema(
    {
        **dict.fromkeys(("log_id", "org_id", "sync_id", "sync_run_id"), pa.string()),
        **dict.fromkeys(
            ("record_identifier", "record_payload", "operation", "status", "status_message"), pa.string()
        ),
        "batch_started_at": TIMESTAMP,
        "batch_completed_at": TIMESTAMP,
        "batch_type": pa.string(),
        "batch_number": pa.int32(),
        "_extra": pa.string(),
        "_source_file": pa.string(),
        "_source_row": pa.int64(),
        "_file_modified_at": TIMESTAMP,
        "_load_id": pa.string(),
        "_loaded_at": TIMESTAMP,
    }
)
"""``sync_tracking_records``, where it is a table."""

TABLES = {
    "load_files": FILES_SCHEMA,
    "load_history": HISTORY_SCHEMA,
    "forgotten_records": FORGOTTEN_SCHEMA,
    "sync_tracking_records": RECORDS_TABLE_SCHEMA,
    **{table.name: table.schema.append(LOAD_ID) for table in (RUN_METADATA, FACTS)},
}
"""The tables of a warehouse with transactions; the contract's others are views in it."""


@dataclass(frozen=True)
class Commit:
    """One load, ready to be made visible: its ledger rows (:data:`FILES_SCHEMA`) and its row of history.

    ``history`` lacks ``finished_at``, which is the moment at which the warehouse has everything else.
    """

    load_id: str
    files: pa.Table
    history: dict[str, Any]

    def finished_history(self) -> dict[str, Any]:
        """Return the row of history, finished now."""
        return {**self.history, "finished_at": dt.datetime.now(dt.UTC)}


class Warehouse(Protocol):
    """A destination of loads.

    A load holds :meth:`lock`, reads :meth:`ledger`, gives its rows to :meth:`stage` and ends in
    :meth:`commit`; nothing of it is visible before that, and all of it after. Every method raises
    :class:`~synctrail.errors.WarehouseError` with what to do next.
    """

    @property
    def name(self) -> str:
        """What a user calls this destination: engine, place and schema."""
        ...

    def spark_config(self) -> dict[str, str]:
        """Return the settings that the Spark session has to be started with."""
        ...

    @property
    def needs_spark(self) -> bool:
        """Whether the warehouse itself is in Spark, so that even its ledger needs a session."""
        ...

    @property
    def needs_spark_to_write(self) -> bool:
        """Whether all that is written goes through Spark, so that to prune and to forget needs a session."""
        ...

    @property
    def needs_hive(self) -> bool:
        """Whether the Spark session has to be started with Hive's catalog."""
        ...

    def check(self) -> None:
        """Refuse a destination that no load can go to, as far as that is known without a session."""
        ...

    def lock(self, wait_seconds: float) -> AbstractContextManager[None]:
        """Keep other loads out for the time of the block, and clear away what dead ones left behind."""
        ...

    def ledger(self) -> pa.Table:
        """Return path, size, modification time and status of every file seen (``LEDGER_SCHEMA``)."""
        ...

    def stage(self, load_id: str, table: StagedTable, rows: DataFrame) -> DataFrame:
        """Write a load's rows where no reader sees them; return them as they were written."""
        ...

    def commit(self, commit: Commit) -> dict[str, Any]:
        """Make the staged rows, the ledger and the history visible in one step; return the row of history."""
        ...

    @property
    def cut_texts(self) -> Mapping[str, int]:
        """How many texts of which columns a load has cut, as they are longer than the warehouse's."""
        ...

    def files(self) -> pa.Table:
        """Return the whole ledger (:data:`FILES_SCHEMA`)."""
        ...

    def history(self) -> pa.Table:
        """Return all loads (:data:`HISTORY_SCHEMA`), the oldest first."""
        ...

    def prune(self, files: pa.Table) -> None:
        """Replace ledger rows of record files by these (:data:`FILES_SCHEMA`), and delete the files' rows."""
        ...

    def forgotten(self) -> pa.Table:
        """Return the tombstones of those who were erased (:data:`FORGOTTEN_SCHEMA`)."""
        ...

    def forget(self, identifiers: Sequence[str], syncs: Sequence[str], tombstones: pa.Table) -> int:
        """Keep the tombstones and erase all rows of the identifiers; return how many rows there were.

        Args:
            identifiers: as they are in ``record_identifier``.
            syncs: the syncs in which rows are erased; none for every sync.
            tombstones: those to add (:data:`FORGOTTEN_SCHEMA`); none where all are there.

        """
        ...


class TableReads(ABC):
    """What a destination that keeps :data:`TABLES` as they are reads of them, and what most of them have."""

    needs_spark_to_write = False

    @property
    def cut_texts(self) -> Mapping[str, int]:
        """None: texts are kept whole."""
        return {}

    @abstractmethod
    def _select(self, table: str, schema: pa.Schema) -> pa.Table:
        """Return the columns of a schema; no rows if there is no such table yet."""

    def ledger(self) -> pa.Table:
        """Return what planning needs of ``load_files``; empty if there is no such table yet."""
        return self._select("load_files", LEDGER_SCHEMA)

    def files(self) -> pa.Table:
        """Return the whole ledger."""
        return self._select("load_files", FILES_SCHEMA)

    def history(self) -> pa.Table:
        """Return all loads, the oldest first."""
        return self._select("load_history", HISTORY_SCHEMA).sort_by([("started_at", "ascending")])

    def forgotten(self) -> pa.Table:
        """Return the tombstones; empty if there is no such table yet."""
        return self._select("forgotten_records", FORGOTTEN_SCHEMA)


def ddl(schema: pa.Schema, types: Mapping[pa.DataType, str]) -> str:
    """Return the columns of a table as ``create table`` wants them."""
    return ", ".join(f"{field.name} {types[field.type]}" for field in schema)


def quoted(name: str) -> str:
    """Return a name as an identifier of standard SQL."""
    return '"{}"'.format(name.replace('"', '""'))
