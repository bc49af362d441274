"""Amazon Redshift, a warehouse in a cloud.

A load is staged as Parquet in S3, copied into temporary tables, and brought from there into the contract's in
one transaction.
"""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are quoted or our own

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession

from synctrail.errors import UsageError
from synctrail.spark_errors import SPARK_ERRORS, translate
from synctrail.stage import (
    FACTS,
    LOAD_SETTINGS,
    RECORDS,
    RUN_METADATA,
    STAGED_TABLES,
    StagedTable,
    delete_folder,
    spark_settings,
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
    quoted,
)
from synctrail.warehouses.redshift_lock import RedshiftLock
from synctrail.warehouses.redshift_session import DO_NOT_EXIST, Session, ignored
from synctrail.warehouses.redshift_target import Connection
from synctrail.warehouses.redshift_texts import LONGEST, storable
from synctrail.warehouses.views import Dialect, records_view, small_views
from synctrail.work_folder import check_arrived, digest_of

_LOCK_TABLE = "synctrail_lock"
# Who meets the lock of a load that is committing is refused after that time.
_LOCK_STATEMENT_SECONDS = 20
# https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
_STAGE = re.compile(r"s3://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](?:/[A-Za-z0-9_.=-]+)*/?")
# https://docs.aws.amazon.com/redshift/latest/mgmt/authorizing-redshift-service-chaining-roles.html; a role's
# name may have a comma, which would look like the end of it.
_ONE_ROLE = r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9_+=.@/-]+"
_ROLE = re.compile(rf"{_ONE_ROLE}(?:,{_ONE_ROLE})*")
_TYPES = {
    pa.string(): f"varchar({LONGEST})",
    pa.int32(): "integer",
    pa.int64(): "bigint",
    pa.timestamp("us", "UTC"): "timestamptz",
}
# COPY reads Parquet by Redshift Spectrum, whose types have no timestamptz: such a time is UTC.
# https://docs.aws.amazon.com/redshift/latest/dg/r_CREATE_EXTERNAL_TABLE.html
_COPIED_TYPES = {**_TYPES, pa.timestamp("us", "UTC"): "timestamp"}
_DIALECT = Dialect(row_hash="md5(f.path || ':' || cast(r.row_no as varchar(20)))")
# The models' builds ask for the rows of the newest loads, by sync. The ids of loads sort by time: so the rows
# of a load come behind those that are there, and need not be sorted anew. How rows are spread over the nodes
# is left to Redshift (DISTSTYLE AUTO), as the models' tables leave it.
_SORT_KEYS = {"sync_tracking_records": "compound sortkey (_load_id, sync_id)"}
_ADVICE = "see that nobody else empties that folder, and run it again"


class RedshiftWarehouse(TableReads):
    """A schema of a Redshift database.

    A transaction of DML alone takes a load from temporary tables, which no other session sees.

    Args:
        connection: how to connect.
        schema: the schema of the staging tables.
        stage: a place in S3, ``s3://bucket[/path]``, to which Spark writes the rows. Redshift takes Parquet
            from nowhere else; without a stage, tables can be read alone.
        stage_url: how Spark names that place, if not as ``s3a://``.
        stage_role: the ARN of the role by which Redshift reads there, or several in a chain, with commas
            between them; else the cluster's default one.

    Raises:
        UsageError: the stage or the role is none.

    """

    needs_spark = False
    needs_hive = False
    needs_spark_to_write = True

    def __init__(
        self,
        connection: Connection,
        schema: str,
        *,
        stage: str | None = None,
        stage_url: str | None = None,
        stage_role: str | None = None,
    ) -> None:
        if stage and not _STAGE.fullmatch(stage):
            raise UsageError(f"'{stage}' is no place in S3; write --stage s3://BUCKET[/PATH]")
        if stage_role and not _ROLE.fullmatch(stage_role):
            raise UsageError(
                f"'{stage_role}' is no role; write --stage-role arn:aws:iam::ACCOUNT:role/NAME, or several"
                " with commas and no spaces between them"
            )
        self._connection = connection
        self._schema = schema
        self._stage = stage.rstrip("/") if stage else ""
        self._stage_url = (stage_url or self._stage.replace("s3://", "s3a://", 1)).rstrip("/")
        self._iam_role = f"'{stage_role}'" if stage_role else "default"
        self._session = Session(connection, self.name)
        lock_session = Session(connection, self.name, statement_seconds=_LOCK_STATEMENT_SECONDS)
        self._lock = RedshiftLock(lock_session, self._table(_LOCK_TABLE))
        self._staged: set[str] = set()
        self._cut: Counter[str] = Counter()

    @property
    def name(self) -> str:
        """The server, the database and the schema."""
        return f"Redshift {self._connection.place}, schema {self._schema}"

    @property
    def cut_texts(self) -> Mapping[str, int]:
        """How many texts of which columns the load has cut, those of files that turned out bad included."""
        return {name: count for name, count in sorted(self._cut.items()) if count}

    def spark_config(self) -> dict[str, str]:
        """Return nothing: Spark only reads the lake and writes Parquet."""
        return {}

    def check(self) -> None:
        """Refuse to write without a stage, and a cluster that cannot be reached."""
        self._check_stage()
        with self._session.connected():
            pass

    @contextmanager
    def lock(self, wait_seconds: float) -> Iterator[None]:
        """Keep other loads into this schema out; staged files of killed loads are removed."""
        self._check_stage()
        with self._session.connected():
            # Now, so that a right that is missing is told before the lake is read.
            self._create()
        self._cut.clear()
        with self._lock.held(wait_seconds), self._clean_stage():
            yield

    def stage(self, load_id: str, table: StagedTable, rows: DataFrame) -> DataFrame:  # noqa: ARG002 - the lock's token tells loads apart
        """Write the rows as Parquet to where they are copied from, with texts that Redshift can hold."""
        self._staged.add(table.name)
        texts = [name for name in table.schema.names if name != "_outcome"]
        cut = Observation()
        staged = stage_as_parquet(self._place(table.name), table, storable(rows, texts, cut))
        self._cut.update(cut.get)
        return staged

    def commit(self, commit: Commit) -> dict[str, Any]:
        """Copy what is staged into temporary tables, and all from there in one transaction."""
        with self._session.connected():
            changed = self._temporary("changed_files", commit.files)
            staged = {table: self._copied(table.name, table.schema) for table in STAGED_TABLES}
            with self._lock.transaction(self._session):
                if changed:
                    self._delete_records(changed)
                    self._insert_records(changed, staged[RECORDS], commit)
                    for table in (RUN_METADATA, FACTS):
                        self._replace_rows(table, changed, staged[table], commit.load_id)
                    self._replace_ledger_rows(changed)
                history = commit.finished_history()
                names = HISTORY_SCHEMA.names
                self._session.execute(
                    f"insert into {self._table('load_history')} ({', '.join(names)})"
                    f" values ({', '.join(['%s'] * len(names))})",
                    [history[name] for name in names],
                )
        return history

    def prune(self, files: pa.Table) -> None:
        """Replace ledger rows, and delete the rows of their files, in one transaction."""
        with self._session.connected():
            if changed := self._temporary("changed_files", files):
                with self._lock.transaction(self._session):
                    self._delete_records(changed)
                    self._replace_ledger_rows(changed)

    def forget(self, identifiers: Sequence[str], syncs: Sequence[str], tombstones: pa.Table) -> int:
        """Keep the tombstones and erase the rows in one transaction; then clear away what was deleted.

        The identifiers come in a file: Redshift keeps the text of queries. What is deleted stays on its disks
        until it is cleared away (https://docs.aws.amazon.com/redshift/latest/dg/r_VACUUM_command.html).
        """
        people = pa.table({"record_identifier": pa.array(identifiers, pa.string())})
        chosen = pa.table({"sync_id": pa.array(syncs, pa.string())})
        records = self._table("sync_tracking_records")
        with self._session.connected():
            added = self._temporary("new_tombstones", tombstones)
            erased = self._temporary("people", people)
            within = self._temporary("syncs", chosen)
            with self._lock.transaction(self._session):
                if added:
                    self._append("forgotten_records", FORGOTTEN_SCHEMA, added)
                in_syncs = f" and sync_id in (select sync_id from {within})" if within else ""
                # Blanks at the end are part of an identifier, and not of what Redshift compares.
                # https://docs.aws.amazon.com/redshift/latest/dg/r_Examples_with_character_types.html
                theirs, given = f"{records}.record_identifier", f"{erased}.record_identifier"
                rows_erased = self._session.execute(
                    f"delete from {records} using {erased} where {theirs} = {given}"
                    f" and octet_length({theirs}) = octet_length({given}){in_syncs}"
                )
            self._session.execute(f"vacuum delete only {records} to 100 percent")
        return rows_erased

    def _check_stage(self) -> None:
        if not self._stage:
            raise UsageError(
                "Redshift takes rows from S3; give --stage s3://BUCKET[/PATH], to which Spark writes them and"
                " from which Redshift reads (SYNCTRAIL_STAGE)"
            )

    def _create(self) -> None:
        """Create what is missing; of what is there, only the owner might create it once more."""
        # In the catalog, letters are small ones, unless enable_case_sensitive_identifier is on.
        # https://docs.aws.amazon.com/redshift/latest/dg/r_names.html
        names = [self._schema, self._schema.lower()]
        query, execute = self._session.query, self._session.execute
        if not query("select nspname from pg_namespace where nspname in (%s, %s)", names):
            execute(f"create schema if not exists {quoted(self._schema)}")
        found = query(
            "select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace"
            " where n.nspname in (%s, %s)",
            names,
        )
        there = {name for (name,) in found}
        for name, schema in TABLES.items():
            if name not in there:
                columns, sort_key = ddl(schema, _TYPES), _SORT_KEYS.get(name, "")
                execute(f"create table if not exists {self._table(name)} ({columns}) {sort_key}")
        views = small_views(
            self._table("load_files"), self._table(RUN_METADATA.name), self._table(FACTS.name), _DIALECT
        )
        for name, view in views.items():
            if name not in there:
                execute(f"create or replace view {self._table(name)} as {view}")
        if _LOCK_TABLE not in there:
            self._lock.create(self._session)

    def _delete_records(self, changed: str) -> None:
        self._session.execute(
            f"delete from {self._table('sync_tracking_records')} where _source_file in"
            f" (select path from {self._table('load_files')} where path in (select path from {changed}))"
        )

    def _insert_records(self, changed: str, staged: str | None, commit: Commit) -> None:
        inserted = 0
        if staged:
            columns = ", ".join(TABLES["sync_tracking_records"].names)
            rows = _in_utc(staged, RECORDS.schema, f", cast('{commit.load_id}' as varchar(64)) as load_id")
            inserted = self._session.execute(
                f"insert into {self._table('sync_tracking_records')} ({columns})"
                f" {records_view(_in_utc(changed, FILES_SCHEMA), rows, _DIALECT)}"
            )
        check_arrived(inserted, commit.history["rows_loaded"], self._place(RECORDS.name), _ADVICE)

    def _replace_rows(self, table: StagedTable, changed: str, staged: str | None, load_id: str) -> None:
        target, ledger = self._table(table.name), self._table("load_files")
        self._session.execute(
            f"delete from {target} using {ledger}, {changed} where {ledger}.path = {changed}.path"
            f" and {target}.load_id = {ledger}.load_id and {target}.file_key = {ledger}.file_key"
        )
        if staged:
            columns = ", ".join(table.schema.names)
            self._session.execute(
                f"insert into {target} ({columns}, load_id) select {columns}, '{load_id}'"
                f" from {_in_utc(staged, table.schema)} r where _outcome is null"
            )

    def _replace_ledger_rows(self, changed: str) -> None:
        self._session.execute(
            f"delete from {self._table('load_files')} where path in (select path from {changed})"
        )
        self._append("load_files", FILES_SCHEMA, changed)

    def _append(self, table: str, schema: pa.Schema, rows: str) -> None:
        columns = ", ".join(schema.names)
        self._session.execute(
            f"insert into {self._table(table)} ({columns}) select {columns} from {_in_utc(rows, schema)} r"
        )

    def _temporary(self, name: str, rows: pa.Table) -> str | None:
        """Return a temporary table of these rows; none where there are no rows."""
        if not rows.num_rows:
            return None
        self._staged.add(name)
        spark = SparkSession.active()
        with self._using_stage(), spark_settings(spark, LOAD_SETTINGS):
            few = storable(spark.createDataFrame(rows), rows.schema.names).coalesce(1)
            write_parquet(few, self._place(name))
        return self._copied(name, rows.schema)

    def _copied(self, name: str, schema: pa.Schema) -> str | None:
        """Copy what is staged under a name into a temporary table; return it, or none if nothing is staged.

        Columns come by their place. What else Spark leaves in a folder does not begin with ``part-``.
        https://docs.aws.amazon.com/redshift/latest/dg/copy-usage_notes-copy-from-columnar.html
        """
        if name not in self._staged:
            return None
        table = f"synctrail_{self._lock.token}_{name}"
        place = f"{self._stage}{self._folder(name)}"
        self._session.execute(f"create temporary table {table} ({ddl(schema, _COPIED_TYPES)})")
        self._session.copy(
            f"copy {table} from '{place}/part-' iam_role {self._iam_role} format as parquet", place
        )
        return table

    def _place(self, name: str) -> str:
        """Return the URL to which the rows of a name are written."""
        return f"{self._stage_url}{self._folder(name)}"

    def _folder(self, name: str) -> str:
        return f"{self._own_folder}/{self._lock.token}/{name}"

    @property
    def _own_folder(self) -> str:
        """What in the stage is this schema's alone: who has its lock may empty it.

        Clusters that share a bucket may have databases and schemas of one name, hence the digest.
        """
        names = f"{self._connection.connect['database']}_{self._schema}".lower()
        return f"/synctrail_{re.sub('[^a-z0-9_]', '_', names)}_{digest_of(self.name.lower())}"

    @contextmanager
    def _clean_stage(self) -> Iterator[None]:
        """Let nothing stay in the stage: neither of a killed load nor, after the block, of this one."""
        spark, place = SparkSession.active(), f"{self._stage_url}{self._own_folder}"
        with self._using_stage():
            delete_folder(spark, place)
        try:
            yield
        finally:
            # The load is committed, or failed: what cannot be removed now is left to the next one.
            with suppress(*SPARK_ERRORS):
                delete_folder(spark, place)
            self._staged.clear()

    @contextmanager
    def _using_stage(self) -> Iterator[None]:
        """Tell of errors in the block as of those of the stage, and not of the lake."""
        try:
            yield
        except SPARK_ERRORS as error:
            raise translate(error, self._stage_url) from error

    def _select(self, table: str, schema: pa.Schema) -> pa.Table:
        rows: list[list[Any]] = []
        with self._session.connected(), ignored(*DO_NOT_EXIST):
            rows = self._session.query(f"select {', '.join(schema.names)} from {self._table(table)}")
        return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema)

    def _table(self, name: str) -> str:
        return f"{quoted(self._schema)}.{quoted(name)}"


def _in_utc(table: str, schema: pa.Schema, more: str = "") -> str:
    """Return a copied table as a subquery, whose times are instants."""
    columns = (
        f"{field.name} at time zone 'UTC' as {field.name}"
        if pa.types.is_timestamp(field.type)
        else field.name
        for field in schema
    )
    return f"(select {', '.join(columns)}{more} from {table})"
