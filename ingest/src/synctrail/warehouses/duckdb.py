"""DuckDB, the embedded warehouse.

A load is staged as Parquet beside the database and committed in one transaction.
"""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are quoted or our own

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import duckdb
import pyarrow as pa
from pyspark.sql import DataFrame

from synctrail.errors import BusyError, WarehouseError
from synctrail.lock import exclusive_lock
from synctrail.stage import FACTS, RECORDS, RUN_METADATA, StagedTable, stage_as_parquet
from synctrail.warehouses.base import (
    FILES_SCHEMA,
    FORGOTTEN_SCHEMA,
    HISTORY_SCHEMA,
    TABLES,
    Commit,
    TableReads,
    ddl,
    quoted,
)
from synctrail.warehouses.views import records_view, small_views

_RESULT = TypeVar("_RESULT")
_RETRY_SECONDS = 0.5
_COMMIT_MEMORY = "1GB"
_READ_AND_WRITE = os.R_OK | os.W_OK
# DuckDB's own words; "lock" alone may well stand in the path.
_BUSY = "could not set lock"

_TYPES = {
    pa.string(): "varchar",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.timestamp("us", "UTC"): "timestamp",
}


class DuckDbWarehouse(TableReads):
    """A DuckDB database file.

    Args:
        database: the file; it is made when the first load is committed.
        schema: the schema of the staging tables.
        busy_seconds: how long to wait while another process has the database open.

    """

    needs_spark = False
    needs_hive = False

    def __init__(self, database: Path, schema: str, *, busy_seconds: float = 60.0) -> None:
        self._database = database.absolute()
        self._schema = schema
        self._busy_seconds = busy_seconds
        self._work = self._database.with_name(self._database.name + ".synctrail")

    @property
    def name(self) -> str:
        """The database file and the schema."""
        return f"DuckDB {self._database.name}, schema {self._schema}"

    def spark_config(self) -> dict[str, str]:
        """Return nothing: Spark only reads the lake and writes Parquet."""
        return {}

    @contextmanager
    def lock(self, wait_seconds: float) -> Iterator[None]:
        """Keep other loads into this database out; staged files of killed loads are removed."""
        self.check()
        try:
            with exclusive_lock(self._work / "lock", wait_seconds=wait_seconds):
                self._remove_staged()
                try:
                    yield
                finally:
                    self._remove_staged()
        finally:
            # Not empty where another load has its lock file there by now: then the folder stays.
            with suppress(OSError):
                self._work.rmdir()

    def check(self) -> None:
        """Refuse a folder that is not there, and what may not be written."""
        folder = self._database.parent
        try:
            if not folder.is_dir():
                raise WarehouseError(
                    f"the folder of the DuckDB database {self._database} does not exist;"
                    " make it, or correct path in profiles.yml"
                )
            denied = None if os.access(folder, os.R_OK | os.W_OK | os.X_OK) else folder
            if denied is None and self._database.exists() and not os.access(self._database, _READ_AND_WRITE):
                denied = self._database
        except PermissionError:
            denied = folder
        if denied is not None:
            raise WarehouseError(
                f"no permission to write {denied}; give the user who runs the load the right to read and"
                " write it, or correct path in profiles.yml"
            )

    def stage(self, load_id: str, table: StagedTable, rows: DataFrame) -> DataFrame:
        """Write the rows as Parquet beside the database."""
        return stage_as_parquet(self._staged(load_id, table), table, rows)

    def commit(self, commit: Commit) -> dict[str, Any]:
        """Bring the staged rows, the ledger and the history into the database in one transaction."""
        return self._connected(lambda connection: self._commit(connection, commit), read_only=False)

    def prune(self, files: pa.Table) -> None:
        """Replace ledger rows, and delete the rows of their files, in one transaction."""

        def delete(connection: duckdb.DuckDBPyConnection) -> None:
            connection.execute("begin transaction")
            connection.register("pruned_utc", files)
            ledger, records = self._table("load_files"), self._table("sync_tracking_records")
            connection.execute(f"delete from {records} where _source_file in (select path from pruned_utc)")
            connection.execute(f"delete from {ledger} where path in (select path from pruned_utc)")
            connection.execute(
                f"insert into {ledger} by name"
                f" select * replace ({', '.join(_as_stored(FILES_SCHEMA))}) from pruned_utc"
            )
            connection.execute("commit")

        self._connected(delete, read_only=False)

    def forget(self, identifiers: Sequence[str], syncs: Sequence[str], tombstones: pa.Table) -> int:
        """Keep the tombstones and erase the rows in one transaction."""

        def erase(connection: duckdb.DuckDBPyConnection) -> int:
            connection.execute("begin transaction")
            self._create(connection)
            connection.register("new_tombstones", tombstones)
            connection.execute(
                f"insert into {self._table('forgotten_records')} by name"
                f" select * replace ({', '.join(_as_stored(FORGOTTEN_SCHEMA))}) from new_tombstones"
            )
            found = connection.execute(
                f"delete from {self._table('sync_tracking_records')}"
                " where list_contains($identifiers, record_identifier)"
                " and (len($syncs) = 0 or list_contains($syncs, sync_id))",
                {"identifiers": [*identifiers], "syncs": [*syncs]},
            ).fetchall()
            connection.execute("commit")
            # So that the rows are in no log beside the database either.
            connection.execute("checkpoint")
            return int(found[0][0])

        return self._connected(erase, read_only=False)

    def _commit(self, connection: duckdb.DuckDBPyConnection, commit: Commit) -> dict[str, Any]:
        # So that memory does not grow with the load: spill to disk, and leave the rows in any order.
        spill = str(self._work / "spill").replace("'", "''")
        connection.execute(f"set temp_directory = '{spill}'")
        connection.execute(f"set memory_limit = '{_COMMIT_MEMORY}'")
        connection.execute("set preserve_insertion_order = false")
        connection.execute("begin transaction")
        self._create(connection)
        if commit.files.num_rows:
            connection.register("commit_files_utc", commit.files)
            connection.execute(
                "create or replace temporary table commit_files as select * replace"
                f" ({', '.join(_as_stored(FILES_SCHEMA))}) from commit_files_utc"
            )
            self._replace_records(connection, commit.load_id)
            for table in (RUN_METADATA, FACTS):
                self._replace_rows(connection, table, commit.load_id)
            ledger = self._table("load_files")
            connection.execute(f"delete from {ledger} where path in (select path from commit_files)")
            connection.execute(f"insert into {ledger} by name select * from commit_files")
        history = commit.finished_history()
        connection.register("commit_history", pa.Table.from_pylist([history], HISTORY_SCHEMA))
        connection.execute(f"insert into {self._table('load_history')} by name select * from commit_history")
        connection.execute("commit")
        return history

    def _create(self, connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute(f"create schema if not exists {quoted(self._schema)}")
        for name, schema in TABLES.items():
            connection.execute(f"create table if not exists {self._table(name)} ({ddl(schema, _TYPES)})")
        views = small_views(
            self._table("load_files"), self._table(RUN_METADATA.name), self._table(FACTS.name)
        )
        for name, query in views.items():
            connection.execute(f"create view if not exists {self._table(name)} as {query}")

    def _replace_records(self, connection: duckdb.DuckDBPyConnection, load_id: str) -> None:
        records, ledger = self._table("sync_tracking_records"), self._table("load_files")
        connection.execute(
            f"""
            delete from {records} where _source_file in (
                select path from {ledger} where path in (select path from commit_files)
            )
            """
        )
        if not (staged := self._staged(load_id, RECORDS)).exists():
            return
        rows = f"(select {_staged_columns(RECORDS, load_id)} from {_parquet(staged)})"
        connection.execute(f"insert into {records} by name {records_view('commit_files', rows)}")

    def _replace_rows(self, connection: duckdb.DuckDBPyConnection, table: StagedTable, load_id: str) -> None:
        target, ledger = self._table(table.name), self._table("load_files")
        connection.execute(
            f"""
            delete from {target} where (load_id, file_key) in (
                select (load_id, file_key) from {ledger} where path in (select path from commit_files)
            )
            """
        )
        if (staged := self._staged(load_id, table)).exists():
            connection.execute(
                f"""
                insert into {target} by name
                select {_staged_columns(table, load_id)}
                from {_parquet(staged)}
                where _outcome is null
                """
            )

    def _select(self, table: str, schema: pa.Schema) -> pa.Table:
        def read(connection: duckdb.DuckDBPyConnection) -> pa.Table:
            try:
                rows = connection.sql(f"select {', '.join(schema.names)} from {self._table(table)}")
            except duckdb.CatalogException:
                return schema.empty_table()
            return rows.to_arrow_table().cast(schema)

        return self._connected(read, read_only=True) if self._database.exists() else schema.empty_table()

    def _connected(self, work: Callable[[duckdb.DuckDBPyConnection], _RESULT], *, read_only: bool) -> _RESULT:
        """Do some work in a connection of its own, so that others find the database free between the two."""
        deadline = time.monotonic() + self._busy_seconds
        while True:
            try:
                connection = duckdb.connect(self._database, read_only=read_only)
                break
            except duckdb.IOException as error:
                if _BUSY not in str(error).lower():
                    raise WarehouseError(f"DuckDB cannot open {self._database}: {_line(error)}") from error
                if time.monotonic() >= deadline:
                    raise BusyError(
                        f"another process has {self._database} open ({_line(error)}); end it and load again"
                    ) from error
                time.sleep(_RETRY_SECONDS)
            except duckdb.Error as error:
                raise WarehouseError(f"DuckDB cannot open {self._database}: {_line(error)}") from error
        try:
            return work(connection)
        except duckdb.Error as error:
            raise WarehouseError(
                f"DuckDB refused the load, nothing of it was kept: {_line(error)}"
            ) from error
        finally:
            connection.close()

    def _staged(self, load_id: str, table: StagedTable) -> Path:
        return self._work / load_id / table.name

    def _remove_staged(self) -> None:
        for entry in self._work.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)

    def _table(self, name: str) -> str:
        return f"{quoted(self._schema)}.{quoted(name)}"


def _as_stored(schema: pa.Schema) -> list[str]:
    """Return the times of a table of instants as DuckDB stores them: in UTC, without a zone."""
    # A cast would go through the session's time zone.
    return [
        f"make_timestamp(epoch_us({field.name})) as {field.name}"
        for field in schema
        if pa.types.is_timestamp(field.type)
    ]


def _staged_columns(table: StagedTable, load_id: str) -> str:
    times = ", ".join(_as_stored(table.schema))
    return f"* {f'replace ({times})' if times else ''}, '{load_id}' as load_id"


def _parquet(folder: Path) -> str:
    pattern = str(folder).translate({ord(sign): f"[{sign}]" for sign in "*?["})
    return "read_parquet('{}')".format((pattern + "/*.parquet").replace("'", "''"))


def _line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
