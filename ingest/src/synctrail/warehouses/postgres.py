"""Postgres, a warehouse on a server.

A load is staged as Parquet on the machine that runs it, and copied into the server in one transaction.
"""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are quoted or our own

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from psycopg.rows import dict_row
from pyarrow import csv
from pyspark.sql import DataFrame

from synctrail.columns import REPLACEMENT, first_line
from synctrail.errors import WarehouseError
from synctrail.lock import acquire, this_process
from synctrail.read import bounded_batches
from synctrail.stage import FACTS, RECORDS, RUN_METADATA, StagedTable, stage_as_parquet
from synctrail.warehouses.base import (
    FILES_SCHEMA,
    FORGOTTEN_SCHEMA,
    HISTORY_SCHEMA,
    LOAD_ID,
    TABLES,
    Commit,
    TableReads,
    ddl,
    quoted,
)
from synctrail.warehouses.views import records_view, small_views
from synctrail.work_folder import check_arrived, made_anew, work_folder

# Text that is there has quotes, a null has none: so an empty text is no null.
# https://www.postgresql.org/docs/current/sql-copy.html
_CSV = csv.WriteOptions(include_header=False, quoting_style="all_valid")
_APPLICATION = "synctrail: "
_TYPES = {
    pa.string(): "text",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.timestamp("us", "UTC"): "timestamptz",
}
# A connection that is lost within a transaction is told of by our own error alone.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

Connection = psycopg.Connection[dict[str, Any]]


class PostgresWarehouse(TableReads):
    """A schema of a Postgres database.

    Args:
        settings: of the connection, by libpq's names, ``host``, ``port``, ``user`` and ``dbname`` among them
            (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PARAMKEYWORDS).
        schema: the schema of the staging tables.
        role: the role to act as, as ``set role`` takes it; else the user's own.

    """

    needs_spark = False
    needs_hive = False

    def __init__(self, settings: Mapping[str, Any], schema: str, *, role: str | None = None) -> None:
        self._settings = settings
        self._schema = schema
        self._role = role
        self._work = work_folder(self.name)

    @property
    def name(self) -> str:
        """The database, its server and the schema."""
        return "Postgres {host}:{port}/{dbname}, schema ".format_map(self._settings) + self._schema

    def spark_config(self) -> dict[str, str]:
        """Return nothing: Spark only reads the lake and writes Parquet."""
        return {}

    def check(self) -> None:
        """Refuse a server that cannot be reached, and a database that cannot hold every text."""
        with self._connected() as connection:
            encoding = connection.info.parameter_status("server_encoding")
        if encoding != "UTF8":
            raise WarehouseError(
                f"the database of {self.name} has the encoding {encoding}, which cannot hold every text;"
                " choose one with the encoding UTF8"
            )

    @contextmanager
    def lock(self, wait_seconds: float) -> Iterator[None]:
        """Keep other loads into this schema out; staged files of killed loads are removed.

        The lock ends with its connection. Should that be lost before the load has ended, no harm is done: who
        writes has a lock of the ledger as well.
        """
        with self._connected() as connection:
            acquire(lambda: self._try_lock(connection), lambda: self._holder(connection), wait_seconds)
            # A right that is missing is told now, and not after the lake was read.
            with connection.transaction(force_rollback=True):
                self._create(connection)
            try:
                with made_anew(self._work):
                    yield
            finally:
                # Closing alone would leave it locked for a moment.
                with suppress(psycopg.Error):
                    connection.execute("select pg_advisory_unlock_all()")

    def stage(self, load_id: str, table: StagedTable, rows: DataFrame) -> DataFrame:
        """Write the rows as Parquet into the folder for temporary files."""
        return stage_as_parquet(self._staged(load_id, table), table, rows)

    def commit(self, commit: Commit) -> dict[str, Any]:
        """Copy the staged rows, the ledger and the history into the database in one transaction."""
        with self._writing() as connection:
            if commit.files.num_rows:
                self._replace_files(connection, commit)
            history = commit.finished_history()
            rows = pa.Table.from_pylist([history], HISTORY_SCHEMA)
            _copy(connection, self._table("load_history"), HISTORY_SCHEMA, rows.to_batches())
        return history

    def prune(self, files: pa.Table) -> None:
        """Replace ledger rows, and delete the rows of their files, in one transaction."""
        with self._writing() as connection:
            _make_temporary(connection, "changed_files", FILES_SCHEMA, files.to_batches())
            self._delete_records(connection)
            self._replace_ledger_rows(connection)

    def forget(self, identifiers: Sequence[str], syncs: Sequence[str], tombstones: pa.Table) -> int:
        """Keep the tombstones and erase the rows in one transaction; then clear away what was deleted."""
        records = self._table("sync_tracking_records")
        stored = [text.replace("\0", REPLACEMENT) for text in identifiers]
        with self._writing() as connection:
            _copy(connection, self._table("forgotten_records"), FORGOTTEN_SCHEMA, tombstones.to_batches())
            erased = connection.execute(
                f"delete from {records} where record_identifier = any($1::text[])"
                " and (cardinality($2::text[]) = 0 or sync_id = any($2::text[]))",
                [stored, [*syncs]],
            ).rowcount
        with self._connected() as connection:
            connection.execute(f"vacuum {records}")
        return erased

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Give a connection in a transaction, in which nobody else writes: who does comes before or after."""
        with self._connected() as connection, connection.transaction():
            self._create(connection)
            connection.execute(f"lock table {self._table('load_files')} in share row exclusive mode")
            yield connection

    def _create(self, connection: Connection) -> None:
        """Create what is missing; of what is there, only the owner might create it once more."""
        there = {
            row["relname"]
            for row in connection.execute(
                "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
                " where n.nspname = $1",
                [self._schema],
            )
        }
        if not connection.execute("select 1 from pg_namespace where nspname = $1", [self._schema]).fetchone():
            connection.execute(f"create schema {quoted(self._schema)}")
        for name, schema in TABLES.items():
            if name not in there:
                connection.execute(f"create table {self._table(name)} ({ddl(schema, _TYPES)})")
                if name == "sync_tracking_records":
                    # By the run, to find the rows of a file: a path may be too long for an index.
                    connection.execute(f"create index on {self._table(name)} (sync_run_id)")
        views = small_views(
            self._table("load_files"), self._table(RUN_METADATA.name), self._table(FACTS.name)
        )
        for name, query in views.items():
            if name not in there:
                connection.execute(f"create view {self._table(name)} as {query}")

    def _replace_files(self, connection: Connection, commit: Commit) -> None:
        _make_temporary(connection, "changed_files", FILES_SCHEMA, commit.files.to_batches())
        self._delete_records(connection)
        self._insert_records(connection, commit)
        for table in (RUN_METADATA, FACTS):
            target = self._table(table.name)
            connection.execute(
                f"delete from {target} t using {self._table('load_files')} l, changed_files c"
                " where l.path = c.path and t.load_id = l.load_id and t.file_key = l.file_key"
            )
            _copy(connection, target, TABLES[table.name], self._staged_rows(commit.load_id, table))
        self._replace_ledger_rows(connection)

    def _delete_records(self, connection: Connection) -> None:
        connection.execute(
            f"delete from {self._table('sync_tracking_records')} r"
            f" using {self._table('load_files')} l, changed_files c"
            " where l.path = c.path and r.sync_run_id = l.sync_run_id and r._source_file = l.path"
        )

    def _insert_records(self, connection: Connection, commit: Commit) -> None:
        staged = RECORDS.schema.append(LOAD_ID)
        _make_temporary(connection, RECORDS.name, staged, self._staged_rows(commit.load_id, RECORDS))
        records = self._table("sync_tracking_records")
        columns = ", ".join(TABLES["sync_tracking_records"].names)
        inserted = connection.execute(
            f"insert into {records} ({columns}) {records_view('changed_files', RECORDS.name)}"
        ).rowcount
        check_arrived(inserted, commit.history["rows_loaded"], str(self._work))
        # What is built from it next would be planned by what the table was before.
        connection.execute(f"analyze {records}")

    def _replace_ledger_rows(self, connection: Connection) -> None:
        ledger, columns = self._table("load_files"), ", ".join(FILES_SCHEMA.names)
        connection.execute(f"delete from {ledger} where path in (select path from changed_files)")
        connection.execute(f"insert into {ledger} ({columns}) select {columns} from changed_files")

    def _select(self, table: str, schema: pa.Schema) -> pa.Table:
        query = f"select {', '.join(schema.names)} from {self._table(table)}"
        with self._connected() as connection:
            try:
                rows = connection.execute(query).fetchall()
            except psycopg.errors.UndefinedTable:
                rows = []
        return pa.Table.from_pylist(rows, schema)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        """Give a connection that commits each statement, transactions aside.

        Raises:
            WarehouseError: it cannot be had, it is lost, or the server refuses what is asked for.

        """
        user = self._settings["user"]
        try:
            connection = self._connect()
        except psycopg.Error as error:
            reason = " ".join(str(error).split())
            raise WarehouseError(
                f"cannot connect to {self.name}, as {user}: {reason}; correct the target in profiles.yml, or"
                " see to the server"
            ) from error
        with closing(connection):
            try:
                yield connection
            except psycopg.errors.InsufficientPrivilege as error:
                raise WarehouseError(
                    f"no permission in {self.name}: {first_line(error)}; give {self._role or user} the right"
                    " to create the schema and its tables, or to read and write those that are there"
                ) from error
            except psycopg.Error as error:
                if connection.closed:
                    raise WarehouseError(
                        f"the connection to {self.name} was lost ({first_line(error)}); what it was to write"
                        " is kept whole or not at all: run the command again"
                    ) from error
                raise WarehouseError(
                    f"Postgres refused the load, nothing of it was kept: {first_line(error)}"
                ) from error

    def _connect(self) -> Connection:
        connection = psycopg.Connection.connect(
            **self._settings,
            application_name=f"{_APPLICATION}{this_process()}",
            client_encoding="utf8",
            autocommit=True,
            row_factory=dict_row,
            # Whose parameters are $1, so that a % in a schema's name is none.
            cursor_factory=psycopg.RawCursor,
        )
        connection.execute("set timezone = 'UTC'")
        # A load may read the lake for longer than a server allows a session to be idle, and holds its lock.
        connection.execute("set idle_session_timeout = 0")
        if self._role:
            connection.execute(f"set role {self._role}")
        return connection

    def _try_lock(self, connection: Connection) -> Connection | None:
        got = connection.execute(f"select pg_try_advisory_lock({_LOCK_KEY}) as got", [self._lock_name])
        row = got.fetchone()
        return connection if row and row["got"] else None

    def _holder(self, connection: Connection) -> str:
        """Return who has the lock, as the name of its connection tells it.

        https://www.postgresql.org/docs/current/view-pg-locks.html has how a key of 64 bits is shown.
        """
        row = connection.execute(
            f"""
            select a.application_name
            from pg_locks l
            join pg_stat_activity a on a.pid = l.pid
            where l.locktype = 'advisory' and l.granted and l.objsubid = 1
                and l.database = (select oid from pg_database where datname = current_database())
                and (l.classid::bigint << 32) | l.objid::bigint = {_LOCK_KEY}
            """,
            [self._lock_name],
        ).fetchone()
        return row["application_name"].removeprefix(_APPLICATION) if row else "another process"

    @property
    def _lock_name(self) -> str:
        return f"synctrail {self._schema}"

    def _staged_rows(self, load_id: str, table: StagedTable) -> Iterator[pa.RecordBatch]:
        """Yield the staged rows, outcomes aside, a bounded number at a time."""
        for file in self._staged(load_id, table).glob("*.parquet"):
            with pq.ParquetFile(file) as parquet:
                for batch in bounded_batches(parquet):
                    rows = batch.filter(pc.is_null(batch.column("_outcome")))
                    yield rows.append_column(LOAD_ID, pa.repeat(load_id, rows.num_rows))

    def _staged(self, load_id: str, table: StagedTable) -> Path:
        return self._work / load_id / table.name

    def _table(self, name: str) -> str:
        return f"{quoted(self._schema)}.{quoted(name)}"


_LOCK_KEY = "hashtextextended($1, 0)"


def _make_temporary(
    connection: Connection, name: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> None:
    """Fill a table that ends with the transaction."""
    connection.execute(f"create temporary table {name} ({ddl(schema, _TYPES)}) on commit drop")
    _copy(connection, name, schema, batches)
    # Nothing else counts what is in it: a join would be planned as if that were next to nothing.
    connection.execute(f"analyze {name}")


def _copy(connection: Connection, table: str, schema: pa.Schema, batches: Iterable[pa.RecordBatch]) -> None:
    """Append rows to a table; one batch of them is in memory at a time."""
    columns = ", ".join(schema.names)
    with connection.cursor().copy(f"copy {table} ({columns}) from stdin (format csv)") as copy:
        for batch in batches:
            text = pa.BufferOutputStream()
            csv.write_csv(_storable(batch), text, _CSV)
            copy.write(memoryview(text.getvalue()))


def _storable(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows without NUL, which text of Postgres cannot hold.

    https://www.postgresql.org/docs/current/datatype-character.html
    """
    columns = [
        pc.replace_substring(column, "\0", REPLACEMENT) if pa.types.is_string(column.type) else column
        for column in rows.columns
    ]
    return pa.RecordBatch.from_arrays(columns, schema=rows.schema)
