"""Snowflake, a warehouse in a cloud.

A load is staged as Parquet, copied into temporary tables, and brought from there into the contract's in one
transaction.
"""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are checked or our own

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from synctrail.errors import UsageError, WarehouseError
from synctrail.spark_errors import SPARK_ERRORS
from synctrail.stage import (
    FACTS,
    RECORDS,
    RUN_METADATA,
    STAGED_TABLES,
    StagedTable,
    delete_folder,
    stage_as_parquet,
    write_parquet,
)
from synctrail.warehouses.base import (
    FILES_SCHEMA,
    FORGOTTEN_SCHEMA,
    HISTORY_SCHEMA,
    TABLES,
    Commit,
    TableReads,
    ddl,
)
from synctrail.warehouses.snowflake_lock import SnowflakeLock
from synctrail.warehouses.snowflake_session import DO_NOT_EXIST, Session, ignored
from synctrail.warehouses.views import records_view, small_views
from synctrail.work_folder import check_arrived, made_anew, work_folder

_LOCK_TABLE = "synctrail_lock"
# https://docs.snowflake.com/en/sql-reference/identifiers-syntax
_NAME = r"[A-Za-z_][A-Za-z0-9_$]*"
_STAGE = re.compile(rf"@?(?P<name>(?:{_NAME}\.){{0,2}}{_NAME})(?P<path>(?:/[A-Za-z0-9_.=-]+)*)/?")
_TYPES = {
    pa.string(): "varchar",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.timestamp("us", "UTC"): "timestamp_tz",
}
# https://docs.snowflake.com/en/sql-reference/sql/create-stage has the URLs of external stages.
_SPARK_SCHEMES = {"s3": "s3a", "s3gov": "s3a", "s3china": "s3a", "gcs": "gs"}
_AZURE = re.compile(
    r"azure://(?P<account>[^./]+)\.blob\.(?P<suffix>[^/]+)/(?P<container>[^/]+)/?(?P<path>.*)"
)


class SnowflakeWarehouse(TableReads):
    """A schema of a Snowflake database.

    Names are written as dbt writes them, without quotes: in Snowflake they are in upper case.

    DDL ends a transaction, so that all tables and views are there before it begins. COPY INTO fills temporary
    tables, which no other session sees; a transaction of DML alone takes the load from there
    (https://docs.snowflake.com/en/sql-reference/transactions#ddl).

    Args:
        settings: what :func:`snowflake.connector.connect` takes.
        database: the database of the staging tables.
        schema: their schema.
        stage: a stage of the user's, ``[[database.]schema.]stage[/path]``; else a temporary one. To an
            internal stage the rows are put from the machine that runs the load; to an external one Spark
            writes them.
        stage_url: where Spark writes for an external stage, if not to the URL that the stage has.

    Raises:
        UsageError: a name is none that dbt finds, or that of no stage.

    """

    needs_spark = False
    needs_hive = False

    def __init__(
        self,
        settings: Mapping[str, Any],
        database: str,
        schema: str,
        *,
        stage: str | None = None,
        stage_url: str | None = None,
    ) -> None:
        for what, name in (("database", database), ("schema", schema)):
            if not re.fullmatch(_NAME, name):
                raise UsageError(
                    f"'{name}' is no {what} that dbt finds in Snowflake, where it writes names without"
                    " quotes; choose one of letters, digits and underscores"
                )
        self._account = settings["account"]
        self._database = database
        self._schema = schema
        self._stage = _stage_of_user(stage, [database, schema]) if stage else None
        self._stage_url = stage_url
        # Where Spark writes for an external stage, once it is known.
        self._url: str | None = None
        self._session = Session(settings, database, self.name)
        self._lock = SnowflakeLock(self._session, self._table(_LOCK_TABLE))
        self._work = work_folder(self.name)
        self._staged: set[str] = set()
        # What is temporary in the session, as drop wants it.
        self._made: list[str] = []

    @property
    def name(self) -> str:
        """The account, the database and the schema."""
        return f"Snowflake {self._account}/{self._database}, schema {self._schema}"

    def spark_config(self) -> dict[str, str]:
        """Return nothing: Spark only reads the lake and writes Parquet."""
        return {}

    def check(self) -> None:
        """Refuse an account that cannot be reached, and a stage that is not there."""
        with self._session.connected():
            self._find_stage()

    @contextmanager
    def lock(self, wait_seconds: float) -> Iterator[None]:
        """Keep other loads into this schema out; staged files of killed loads are removed."""
        with self._session.connected():
            self._find_stage()
            # Now, so that a right that is missing is told before the lake is read.
            self._create()
        with self._lock.held(wait_seconds), made_anew(self._work), self._clean_stage():
            yield

    def stage(self, load_id: str, table: StagedTable, rows: DataFrame) -> DataFrame:  # noqa: ARG002 - the lock's token tells loads apart
        """Write the rows as Parquet to where they are copied from."""
        self._staged.add(table.name)
        return stage_as_parquet(self._place(table.name), table, rows)

    def commit(self, commit: Commit) -> dict[str, Any]:
        """Copy what is staged into temporary tables, and all from there in one transaction."""
        with self._session.connected():
            changed = self._temporary("changed_files", commit.files)
            staged = {table: self._copied(table.name, table.schema) for table in STAGED_TABLES}
            with self._lock.transaction() as ours:
                if changed:
                    self._delete_records(changed, ours)
                    self._insert_records(changed, staged[RECORDS], commit, ours)
                    for table in (RUN_METADATA, FACTS):
                        self._replace_rows(table, changed, staged[table], commit.load_id, ours)
                    self._replace_ledger_rows(changed, ours)
                history = commit.finished_history()
                values = ", ".join(
                    f"cast(%({field.name})s as {_TYPES[field.type]})" for field in HISTORY_SCHEMA
                )
                self._session.execute(
                    f"insert into {self._table('load_history')} ({', '.join(HISTORY_SCHEMA.names)})"
                    f" select {values} where {ours}",
                    history,
                )
        return history

    def prune(self, files: pa.Table) -> None:
        """Replace ledger rows, and delete the rows of their files, in one transaction."""
        with self._session.connected():
            changed = self._temporary("changed_files", files)
            if changed:
                with self._lock.transaction() as ours:
                    self._delete_records(changed, ours)
                    self._replace_ledger_rows(changed, ours)

    def forget(self, identifiers: Sequence[str], syncs: Sequence[str], tombstones: pa.Table) -> int:
        """Keep the tombstones and erase the rows in one transaction.

        The identifiers come in a file: Snowflake keeps the text of statements in its history of queries.
        """
        people = pa.table({"record_identifier": pa.array(identifiers, pa.string())})
        chosen = pa.table({"sync_id": pa.array(syncs, pa.string())})
        with self._session.connected():
            added = self._temporary("new_tombstones", tombstones)
            erased = self._temporary("people", people)
            within = self._temporary("syncs", chosen)
            with self._lock.transaction() as ours:
                if added:
                    self._append("forgotten_records", FORGOTTEN_SCHEMA, added, ours)
                in_syncs = f" and sync_id in (select sync_id from {within})" if within else ""
                rows_erased = self._session.execute(
                    f"delete from {self._table('sync_tracking_records')}"
                    f" where record_identifier in (select record_identifier from {erased}){in_syncs}"
                    f" and {ours}"
                )
        return rows_erased

    def _create(self) -> None:
        """Create what is missing; of what is there, only the owner might create it once more."""
        catalog, names = f"{self._database}.information_schema", {"schema": self._schema.upper()}
        query = self._session.query
        if not query(f"select 1 from {catalog}.schemata where schema_name = %(schema)s", names):
            self._session.execute(f"create schema if not exists {self._database}.{self._schema}")
        found = query(f"select table_name from {catalog}.tables where table_schema = %(schema)s", names)
        there = {name.lower() for (name,) in found}
        for name, schema in TABLES.items():
            if name not in there:
                self._session.execute(
                    f"create table if not exists {self._table(name)} ({ddl(schema, _TYPES)})"
                )
        views = small_views(
            self._table("load_files"), self._table(RUN_METADATA.name), self._table(FACTS.name)
        )
        for name, view in views.items():
            if name not in there:
                self._session.execute(f"create view if not exists {self._table(name)} as {view}")
        if _LOCK_TABLE not in there:
            self._lock.create()

    def _delete_records(self, changed: str, ours: str) -> None:
        self._session.execute(
            f"delete from {self._table('sync_tracking_records')} where {ours} and _source_file in"
            f" (select path from {self._table('load_files')} where path in (select path from {changed}))"
        )

    def _insert_records(self, changed: str, staged: str | None, commit: Commit, ours: str) -> None:
        inserted = 0
        if staged:
            columns = ", ".join(TABLES["sync_tracking_records"].names)
            rows = f"(select *, '{commit.load_id}' as load_id from {staged})"
            inserted = self._session.execute(
                f"insert into {self._table('sync_tracking_records')} ({columns})"
                f" {records_view(changed, rows)} and {ours}"
            )
        check_arrived(inserted, commit.history["rows_loaded"], self._place(RECORDS.name))

    def _replace_rows(
        self, table: StagedTable, changed: str, staged: str | None, load_id: str, ours: str
    ) -> None:
        target, columns = self._table(table.name), ", ".join(table.schema.names)
        self._session.execute(
            f"delete from {target} where {ours} and (load_id, file_key) in (select load_id, file_key"
            f" from {self._table('load_files')} where path in (select path from {changed}))"
        )
        if staged:
            self._session.execute(
                f"insert into {target} ({columns}, load_id)"
                f" select {columns}, '{load_id}' from {staged} where _outcome is null and {ours}"
            )

    def _replace_ledger_rows(self, changed: str, ours: str) -> None:
        self._session.execute(
            f"delete from {self._table('load_files')} where {ours} and path in (select path from {changed})"
        )
        self._append("load_files", FILES_SCHEMA, changed, ours)

    def _append(self, table: str, schema: pa.Schema, rows: str, ours: str) -> None:
        columns = ", ".join(schema.names)
        self._session.execute(
            f"insert into {self._table(table)} ({columns}) select {columns} from {rows} where {ours}"
        )

    def _temporary(self, name: str, rows: pa.Table) -> str | None:
        """Return a temporary table of these rows; none where there are no rows."""
        if not rows.num_rows:
            return None
        self._staged.add(name)
        if self._url:
            write_parquet(SparkSession.active().createDataFrame(rows), self._place(name))
        else:
            self._folder(name).mkdir(parents=True)
            pq.write_table(rows, self._folder(name) / "rows.parquet")
        return self._copied(name, rows.schema)

    def _copied(self, name: str, schema: pa.Schema) -> str | None:
        """Copy what is staged under a name into a temporary table; return it, or none if nothing is there."""
        location = self._brought(name) if name in self._staged else None
        if not location:
            return None
        table = self._table(f"synctrail_{self._lock.token}_{name}")
        self._session.execute(f"create temporary table {table} ({ddl(schema, _TYPES)})")
        self._made.append(f"table if exists {table}")
        # https://docs.snowflake.com/en/sql-reference/sql/copy-into-table; a stage may have other defaults.
        self._session.execute(
            f"copy into {table} from {location} pattern = '.*[.]parquet'"
            " file_format = (type = parquet use_logical_type = true)"
            " match_by_column_name = case_insensitive on_error = abort_statement"
        )
        return table

    def _brought(self, name: str) -> str | None:
        """Return where in a stage the rows of a name are; none if they are not where they were written."""
        if self._stage:
            location = f"@{self._stage.name}{self._stage.path}{self._own_folder}/{self._lock.token}/{name}/"
        else:
            location = f"@{self._temporary_stage}/{name}/"
        if self._url:
            return location
        if not any(self._folder(name).glob("*.parquet")):
            return None
        if not self._stage and not self._made:
            self._session.execute(f"create temporary stage {self._temporary_stage}")
            self._made.append(f"stage if exists {self._temporary_stage}")
        files = f"{glob.escape(str(self._folder(name)))}/*.parquet"
        files = files.replace("\\", "\\\\").replace("'", "\\'")
        # Parquet is compressed as it is: https://docs.snowflake.com/en/sql-reference/sql/put
        self._session.execute(f"put 'file://{files}' {location} auto_compress = false")
        return location

    def _place(self, name: str) -> str:
        """Return the URL to which the rows of a name are written."""
        if self._url:
            return f"{self._url}{self._own_folder}/{self._lock.token}/{name}"
        return f"file:{self._folder(name)}"

    def _folder(self, name: str) -> Path:
        return self._work / self._lock.token / name

    @property
    def _temporary_stage(self) -> str:
        return self._table(f"synctrail_{self._lock.token}")

    @property
    def _own_folder(self) -> str:
        """What in a stage of the user's is this schema's alone: who has its lock may empty it."""
        return f"/synctrail_{self._database}_{self._schema}".lower()

    def _find_stage(self) -> None:
        """Find out whether the user's stage is an external one, and if so where Spark writes for it."""
        if not self._stage:
            return
        *namespace, name = self._stage.name.split(".")
        found = self._session.rows(f"show stages like '{name}' in schema {'.'.join(namespace)}")
        # Its pattern takes _ for any character.
        urls = [str(row["url"] or "") for row in found if str(row["name"]).upper() == name.upper()]
        if not urls:
            raise WarehouseError(
                f"there is no stage {self._stage.name}, or {self._session.user} may not use it; create it,"
                " grant the right to use it, or correct --stage"
            )
        if self._stage_url and not urls[0]:
            raise UsageError(f"the stage {self._stage.name} is an internal one; leave --stage-url out")
        if urls[0]:
            self._url = (self._stage_url or spark_url(urls[0])).rstrip("/") + self._stage.path

    @contextmanager
    def _clean_stage(self) -> Iterator[None]:
        """Let nothing stay in a stage: neither of a killed load nor, after the block, of this one."""
        self._remove_staged()
        try:
            yield
        finally:
            # The load is committed, or failed: what cannot be removed now is left to the next one.
            with suppress(*SPARK_ERRORS):
                self._remove_staged()
            made, self._made = self._made, []
            for each in reversed(made):
                self._session.attempt(f"drop {each}")
            self._staged.clear()

    def _remove_staged(self) -> None:
        if self._url:
            delete_folder(SparkSession.active(), f"{self._url}{self._own_folder}")
        elif self._stage:
            self._session.attempt(f"remove @{self._stage.name}{self._stage.path}{self._own_folder}/")

    def _select(self, table: str, schema: pa.Schema) -> pa.Table:
        rows: list[tuple[Any, ...]] = []
        with self._session.connected(), ignored(*DO_NOT_EXIST):
            rows = self._session.query(f"select {', '.join(schema.names)} from {self._table(table)}")
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)

    def _table(self, name: str) -> str:
        return f"{self._database}.{self._schema}.{name}"


@dataclass(frozen=True)
class _Stage:
    """A stage of the user's: its name with database and schema, and the path in it, with its first slash."""

    name: str
    path: str


def spark_url(url: str) -> str:
    """Return the URL of an external stage as Spark names the same place."""
    if azure := _AZURE.fullmatch(url):
        return "abfss://{container}@{account}.dfs.{suffix}/{path}".format_map(azure.groupdict())
    scheme, separator, rest = url.partition("://")
    return f"{_SPARK_SCHEMES.get(scheme, scheme)}{separator}{rest}"


def _stage_of_user(text: str, namespace: list[str]) -> _Stage:
    found = _STAGE.fullmatch(text)
    if not found:
        raise UsageError(f"'{text}' is no stage; write [[DATABASE.]SCHEMA.]STAGE[/PATH], without quotes")
    parts = found["name"].split(".")
    return _Stage(".".join([*namespace[: 3 - len(parts)], *parts]), found["path"])
