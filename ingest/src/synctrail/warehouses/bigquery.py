"""BigQuery, a warehouse in a cloud.

A load is staged as Parquet, brought by load jobs into tables of its own, and from there into the contract's
in one transaction.
"""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are checked or our own

from __future__ import annotations

import datetime as dt
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq
from google.cloud import bigquery
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
)
from synctrail.warehouses.bigquery_lock import BigQueryLock
from synctrail.warehouses.bigquery_session import ERRORS, SHORT_RETRY, Session
from synctrail.warehouses.bigquery_target import Connection
from synctrail.warehouses.views import Dialect, records_view, small_views
from synctrail.work_folder import check_arrived, made_anew, work_folder

_LOCK_TABLE = "synctrail_lock"
_STAGED = "synctrail_staged_"
# What a killed load has left, and no other load has removed.
_STAGED_LIFETIME = dt.timedelta(days=1)
# https://cloud.google.com/resource-manager/docs/creating-managing-projects, with the domain of older ones
_PROJECT = r"(?:[a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]"
# https://cloud.google.com/bigquery/docs/datasets#dataset-naming
_DATASET = r"[A-Za-z0-9_]{1,1024}"
# https://cloud.google.com/storage/docs/buckets#naming
_STAGE = re.compile(r"gs://[a-z0-9][a-z0-9._-]{1,220}[a-z0-9](?:/[A-Za-z0-9_.=-]+)*/?")
_TYPES = {
    pa.string(): "STRING",
    pa.int32(): "INT64",
    pa.int64(): "INT64",
    pa.timestamp("us", "UTC"): "TIMESTAMP",
}
# Names of columns may not begin with _FILE_: https://cloud.google.com/bigquery/docs/schemas#column_names
_FILE_MODIFIED_AT = "_source_file_modified_at"
_DIALECT = Dialect(
    row_hash="to_hex(md5(concat(f.path, ':', cast(r.row_no as string))))",
    refresh_begins="timestamp_sub(l.refreshed_at, interval 1 hour)",
    file_modified_at=_FILE_MODIFIED_AT,
)
# What the models' builds look for rows by.
_CLUSTERS = {"sync_tracking_records": ["_load_id", "sync_id"]}


class BigQueryWarehouse(TableReads):
    """A dataset of a BigQuery project.

    A transaction has neither DDL of tables that stay nor load jobs
    (https://cloud.google.com/bigquery/docs/transactions#statements_supported_in_transactions): so a load's
    rows are brought into tables of its own before, which expire, and which the next load removes.

    Args:
        connection: how to connect, and the project of the staging tables.
        dataset: their dataset.
        stage: a place in Cloud Storage, ``gs://bucket[/path]``, to which Spark writes the rows; else they are
            uploaded from the machine that runs the load.
        stage_url: how Spark names that place, if not so.

    Raises:
        UsageError: a name is none that BigQuery has.

    """

    needs_spark = False
    needs_hive = False

    def __init__(
        self,
        connection: Connection,
        dataset: str,
        *,
        stage: str | None = None,
        stage_url: str | None = None,
    ) -> None:
        for what, name, pattern in (
            ("project", connection.project, _PROJECT),
            ("dataset", dataset, _DATASET),
        ):
            if not re.fullmatch(pattern, name):
                raise UsageError(f"'{name}' is no {what} that BigQuery has; correct it in profiles.yml")
        if stage and not _STAGE.fullmatch(stage):
            raise UsageError(f"'{stage}' is no place in Cloud Storage; write --stage gs://BUCKET[/PATH]")
        self._project = connection.project
        self._dataset = dataset
        self._stage = stage.rstrip("/") if stage else None
        self._stage_url = stage_url.rstrip("/") if stage_url else self._stage
        self._session = Session(connection, dataset)
        self._lock = BigQueryLock(self._session, self._table(_LOCK_TABLE))
        self._work = work_folder(self.name)
        self._written: set[str] = set()

    @property
    def name(self) -> str:
        """The project and the dataset."""
        return self._session.name

    def spark_config(self) -> dict[str, str]:
        """Return nothing: Spark only reads the lake and writes Parquet."""
        return {}

    def check(self) -> None:
        """Refuse a project that cannot be reached."""
        with self._session.connected():
            self._session.find_dataset()

    @contextmanager
    def lock(self, wait_seconds: float) -> Iterator[None]:
        """Keep other loads into this dataset out; what killed loads have staged is removed."""
        with self._session.connected():
            # Now, so that a right that is missing is told before the lake is read.
            self._create()
        with self._lock.held(wait_seconds), made_anew(self._work), self._clean_stage():
            yield

    def stage(self, load_id: str, table: StagedTable, rows: DataFrame) -> DataFrame:  # noqa: ARG002 - the lock's token tells loads apart
        """Write the rows as Parquet to where they are loaded from."""
        self._written.add(table.name)
        return stage_as_parquet(self._place(table.name), table, rows)

    def commit(self, commit: Commit) -> dict[str, Any]:
        """Load what is staged into tables of its own, and bring all from there in one transaction."""
        statements: list[str] = []
        with self._session.connected():
            if changed := self._loaded("changed_files", commit.files):
                staged = {table: self._loaded_rows(table) for table in STAGED_TABLES}
                statements.append(self._delete_records(changed))
                statements += self._insert_records(changed, staged[RECORDS], commit)
                for table in (RUN_METADATA, FACTS):
                    statements += self._replace_rows(table, changed, staged[table], commit.load_id)
                statements += self._replace_ledger_rows(changed)
            history = commit.finished_history()
            statements.append(self._insert_history(history))
            self._lock.write(statements)
        return history

    def prune(self, files: pa.Table) -> None:
        """Replace ledger rows, and delete the rows of their files, in one transaction."""
        with self._session.connected():
            if changed := self._loaded("changed_files", files):
                self._lock.write([self._delete_records(changed), *self._replace_ledger_rows(changed)])

    def forget(self, identifiers: Sequence[str], syncs: Sequence[str], tombstones: pa.Table) -> int:
        """Keep the tombstones and erase the rows in one transaction.

        The identifiers come in a load job: BigQuery keeps the text of queries, and their parameters.
        """
        people = pa.table({"record_identifier": pa.array(identifiers, pa.string())})
        chosen = pa.table({"sync_id": pa.array(syncs, pa.string())})
        records = self._table("sync_tracking_records")
        with self._session.connected():
            added = self._loaded("new_tombstones", tombstones)
            erased = self._loaded("people", people)
            within = self._loaded("syncs", chosen)
            in_syncs = f" and sync_id in (select sync_id from {within})" if within else ""
            theirs = f"record_identifier in (select record_identifier from {erased}){in_syncs}"
            statements = [
                f"set rows_erased = (select count(*) from {records} where {theirs})",
                f"delete from {records} where {theirs}",
            ]
            if added:
                statements.append(self._append("forgotten_records", FORGOTTEN_SCHEMA, added))
            return self._lock.write(statements)

    def _create(self) -> None:
        """Create what is missing; of what is there, only the owner might create it once more."""
        client = self._session.client
        if (dataset := self._session.find_dataset()) is None:
            client.create_dataset(self._place_of_tables, exists_ok=True)
            dataset = self._session.find_dataset()
        there = {table.table_id for table in client.list_tables(self._place_of_tables)}
        made = {name: schema for name, schema in TABLES.items() if name not in there}
        if made and dataset.default_table_expiration_ms:
            raise WarehouseError(
                f"{self.name} has tables expire, which the loader's are not to; remove the dataset's default"
                " table expiration, or choose another dataset"
            )
        for name, schema in made.items():
            self._create_table(name, schema)
        views = small_views(
            self._table("load_files"), self._table(RUN_METADATA.name), self._table(FACTS.name), _DIALECT
        )
        for name, query in views.items():
            if name not in there:
                self._session.query(f"create view if not exists {self._table(name)} as {query}")
        if _LOCK_TABLE not in there:
            self._lock.create()

    def _create_table(self, name: str, schema: pa.Schema, *, expires: dt.datetime | None = None) -> None:
        columns = [bigquery.SchemaField(_column(field.name), _TYPES[field.type]) for field in schema]
        table = bigquery.Table(self._id(name), columns)
        table.clustering_fields = _CLUSTERS.get(name)
        if expires:
            table.expires = expires
        self._session.client.create_table(table, exists_ok=True)

    def _delete_records(self, changed: str) -> str:
        """Return the statement, which reads no records where all files are new, as they mostly are."""
        known = f"select path from {self._table('load_files')} where path in (select path from {changed})"
        return (
            f"if exists ({known}) then delete from {self._table('sync_tracking_records')}"
            f" where _source_file in ({known}); end if"
        )

    def _insert_records(self, changed: str, staged: str | None, commit: Commit) -> list[str]:
        statements, found = [], 0
        if staged:
            rows = f"(select *, '{commit.load_id}' as load_id from {staged})"
            arrived = records_view(changed, rows, _DIALECT)
            ((found,),) = self._session.query(f"select count(*) from ({arrived})")
            columns = ", ".join(_column(name) for name in TABLES["sync_tracking_records"].names)
            statements.append(f"insert into {self._table('sync_tracking_records')} ({columns}) {arrived}")
        check_arrived(found, commit.history["rows_loaded"], self._place(RECORDS.name))
        return statements

    def _replace_rows(
        self, table: StagedTable, changed: str, staged: str | None, load_id: str
    ) -> Iterator[str]:
        target, columns = self._table(table.name), ", ".join(table.schema.names)
        yield (
            f"delete from {target} where (load_id, file_key) in (select (load_id, file_key)"
            f" from {self._table('load_files')} where path in (select path from {changed}))"
        )
        if staged:
            yield (
                f"insert into {target} ({columns}, load_id)"
                f" select {columns}, '{load_id}' from {staged} where _outcome is null"
            )

    def _replace_ledger_rows(self, changed: str) -> list[str]:
        return [
            f"delete from {self._table('load_files')} where path in (select path from {changed})",
            self._append("load_files", FILES_SCHEMA, changed),
        ]

    def _append(self, table: str, schema: pa.Schema, rows: str) -> str:
        """Return the statement, which does nothing twice: the client repeats what BigQuery could not end."""
        target, columns = self._table(table), ", ".join(schema.names)
        return (
            f"insert into {target} ({columns}) select {columns} from {rows}"
            f" where load_id not in (select load_id from {target})"
        )

    def _insert_history(self, history: Mapping[str, Any]) -> str:
        values = ", ".join(f"{_literal(history[name])} as {name}" for name in HISTORY_SCHEMA.names)
        return self._append("load_history", HISTORY_SCHEMA, f"(select {values})")

    def _loaded(self, name: str, rows: pa.Table) -> str | None:
        """Return a table of these rows; none where there are no rows."""
        if not rows.num_rows:
            return None
        with io.BytesIO() as file:
            pq.write_table(rows, file)
            file.seek(0)
            return self._load(name, rows.schema, file)

    def _loaded_rows(self, table: StagedTable) -> str | None:
        """Return a table of what is staged; none where nothing is."""
        if table.name not in self._written:
            return None
        if self._stage:
            place = f"{self._stage}{self._own_folder}/{self._lock.token}/{table.name}/*.parquet"
            return self._load(table.name, table.schema, place)
        files = list(self._folder(table.name).glob("*.parquet"))
        if len(files) > 1:
            # A file is a job, and how many a table may have is limited, in a day as in ten seconds:
            # https://cloud.google.com/bigquery/quotas#load_jobs
            whole = f"{table.name}_whole"
            rows = SparkSession.active().read.parquet(self._place(table.name)).coalesce(1)
            write_parquet(rows, self._place(whole), table.unique_columns)
            files = list(self._folder(whole).glob("*.parquet"))
        if not files:
            return None
        with files[0].open("rb") as file:
            return self._load(table.name, table.schema, file)

    def _load(self, name: str, schema: pa.Schema, source: IO[bytes] | str) -> str:
        """Load Parquet into a new table, which expires; return how statements name it."""
        staged = f"{_STAGED}{self._lock.token}_{name}"
        self._create_table(staged, schema, expires=dt.datetime.now(dt.UTC) + _STAGED_LIFETIME)
        self._session.load_parquet(source, self._id(staged))
        return self._table(staged)

    def _place(self, name: str) -> str:
        """Return the URL to which the rows of a name are written."""
        if self._stage:
            return f"{self._stage_url}{self._own_folder}/{self._lock.token}/{name}"
        return f"file:{self._folder(name)}"

    def _folder(self, name: str) -> Path:
        return self._work / self._lock.token / name

    @property
    def _own_folder(self) -> str:
        """What in the user's stage is this dataset's alone: who has its lock may empty it."""
        return f"/synctrail_{self._project}_{self._dataset}".replace(":", "_")

    @contextmanager
    def _clean_stage(self) -> Iterator[None]:
        """Let nothing stay that is staged: neither of a killed load nor, after the block, of this one."""
        with self._session.connected():
            self._remove_staged(_STAGED)
        try:
            yield
        finally:
            # The load is committed, or failed: what cannot be removed now is left to the next one.
            with suppress(*SPARK_ERRORS, *ERRORS):
                self._remove_staged(f"{_STAGED}{self._lock.token}_")
            self._written.clear()

    def _remove_staged(self, prefix: str) -> None:
        client = self._session.client
        for table in list(client.list_tables(self._place_of_tables, retry=SHORT_RETRY)):
            if table.table_id.startswith(prefix):
                client.delete_table(table.reference, not_found_ok=True, retry=SHORT_RETRY)
        if self._stage:
            delete_folder(SparkSession.active(), f"{self._stage_url}{self._own_folder}")

    def _select(self, table: str, schema: pa.Schema) -> pa.Table:
        with self._session.connected():
            found = self._session.read(self._id(table), schema.names)
        return schema.empty_table() if found is None else found.cast(schema)

    @property
    def _place_of_tables(self) -> str:
        return f"{self._project}.{self._dataset}"

    def _id(self, table: str) -> str:
        return f"{self._place_of_tables}.{table}"

    def _table(self, name: str) -> str:
        return f"`{self._id(name)}`"


def _column(name: str) -> str:
    return _FILE_MODIFIED_AT if name == "_file_modified_at" else name


def _literal(value: Any) -> str:
    """Return a value as a literal; JSON's escapes are among BigQuery's.

    Source: https://cloud.google.com/bigquery/docs/reference/standard-sql/lexical#literals
    """
    if isinstance(value, dt.datetime):
        return f"timestamp '{value.isoformat(sep=' ')}'"
    return json.dumps(value, ensure_ascii=False)
