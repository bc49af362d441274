"""The Spark catalog: tables of Iceberg or Delta, or plain Parquet where the session has neither.

No transaction spans several tables here. So rows are only ever appended, each load in a partition of its
own, and one more append, to the ledger, makes them visible: the contract's tables are views that show the
rows to which the latest ledger entry of their file points. A load that is killed has no ledger entry, so it
shows nothing; of two loads of one file at once, the later entry counts.
"""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are quoted or our own

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark
from pyspark.sql.pandas.types import from_arrow_schema

from synctrail import contract
from synctrail.errors import SparkError
from synctrail.ids import begun_at
from synctrail.lock import exclusive_lock
from synctrail.plan import LEDGER_SCHEMA
from synctrail.spark_errors import SPARK_ERRORS, is_metastore_busy
from synctrail.stage import FACTS, RECORDS, RUN_METADATA, STAGED_TABLES, StagedTable, delete_folder
from synctrail.warehouses.base import FILES_SCHEMA, FORGOTTEN_SCHEMA, HISTORY_SCHEMA, Commit
from synctrail.warehouses.spark_tables import SparkTable, new_table_class, open_table
from synctrail.warehouses.spark_tables.base import PARTITION, entries
from synctrail.warehouses.views import records_view, small_views

_LEDGER = "synctrail_ledger"
# One table, since one append is the commit: a row of a file has a path, a row of history has none.
_LEDGER_SCHEMA = pa.schema(
    [*FILES_SCHEMA, *(field for field in HISTORY_SCHEMA if field.name not in FILES_SCHEMA.names)]
)
# A load that no lock proves dead is taken for dead after this time.
_LONGEST_LOAD = dt.timedelta(days=1)
# The Java process of a killed load outlives it by a moment, and with it its hold on the metastore.
_DYING_SECONDS = 15.0
_POLL_SECONDS = 0.5
_FORGOTTEN = "forgotten_records"
# The tables of which each load has a partition.
_LOADED = (*(table.name for table in STAGED_TABLES), _LEDGER)
# The name of the catalog that Spark itself has.
_OWN_CATALOG = "spark_catalog"


class SparkWarehouse:
    """A schema of the Spark session's own catalog.

    Args:
        schema: the schema of the staging tables.
        settings: what the session is started with, as dbt's session method starts it.
        provider: ``iceberg``, ``delta`` or ``parquet``; else Iceberg or Delta where the session has it.
            Tables that are there stay what they are.

    """

    needs_spark = True
    needs_spark_to_write = True
    needs_hive = True

    def __init__(self, schema: str, settings: dict[str, str], *, provider: str | None = None) -> None:
        self._schema = schema
        self._settings = settings
        self._provider = provider
        self._is_alone = False
        self._is_created = False

    @property
    def name(self) -> str:
        """The catalog and the schema."""
        return f"the Spark catalog, schema {self._schema}"

    @property
    def cut_texts(self) -> Mapping[str, int]:
        """None: texts are kept whole."""
        return {}

    def spark_config(self) -> dict[str, str]:
        """Return the target's ``server_side_parameters``."""
        return dict(self._settings)

    def check(self) -> None:
        """Refuse nothing: the session knows where its catalog is."""

    @contextmanager
    def lock(self, wait_seconds: float) -> Iterator[None]:
        """Keep other loads of this machine out, where the warehouse is on its disk.

        Elsewhere two loads may run at once, and neither harms the other: see the module's description.
        """
        self._open_catalog(max(wait_seconds, _DYING_SECONDS))
        folder = _local_path(_session().conf.get("spark.sql.warehouse.dir") or "")
        if folder is None:
            self._remove_dead_loads()
            yield
            return
        with exclusive_lock(folder / f".synctrail-{self._schema}.lock", wait_seconds=wait_seconds):
            self._is_alone = self._is_local()
            try:
                self._remove_dead_loads()
                yield
            finally:
                self._is_alone = False

    def ledger(self) -> pa.Table:
        """Return what planning needs of ``load_files``; empty if there is no such table yet."""
        return self._select("load_files", LEDGER_SCHEMA)

    def files(self) -> pa.Table:
        """Return the whole ledger, the latest entry of each file."""
        if not self._has_ledger():
            return FILES_SCHEMA.empty_table()
        return _arrow(_session().sql(self._current_files()), FILES_SCHEMA)

    def history(self) -> pa.Table:
        """Return all loads, the oldest first."""
        return self._select("load_history", HISTORY_SCHEMA).sort_by([("started_at", "ascending")])

    def stage(self, load_id: str, table: StagedTable, rows: DataFrame) -> DataFrame:
        """Append the rows, in a partition of their own, to a table of which the views show nothing yet."""
        self._create()
        self._append(table.name, load_id, rows, table.unique_columns)
        return rows.sparkSession.table(self._table(table.name)).where(F.col(PARTITION) == load_id)

    def commit(self, commit: Commit) -> dict[str, Any]:
        """Append the ledger rows and the history in one step."""
        self._create()
        spark = _session()
        history = commit.finished_history()
        entries = [*commit.files.to_pylist(), history]
        ledger = spark.createDataFrame(pa.Table.from_pylist(entries, _LEDGER_SCHEMA)).drop(PARTITION)
        self._append(_LEDGER, commit.load_id, ledger.coalesce(1))
        return history

    def prune(self, files: pa.Table) -> None:
        """Append the ledger rows, which hides the rows of their files; then delete those rows.

        Killed in between, the rows are hidden but there, until the next pruning that finds old runs.
        """
        self._create()
        spark = _session()
        entries = pa.Table.from_pylist(files.to_pylist(), _LEDGER_SCHEMA)
        added = spark.createDataFrame(entries).drop(PARTITION).coalesce(1)
        self._append(_LEDGER, files.column(PARTITION)[0].as_py(), added)
        pruned = spark.sql(
            f"select path, file_key from ({self._current_files()}) where status = '{contract.PRUNED}'"
        )
        versions = spark.table(self._table(_LEDGER)).join(pruned, ["path", "file_key"], "left_semi")
        records = spark.table(self._table(RECORDS.name))
        self._erase(records.join(versions, [PARTITION, "file_key"], "left_semi"), at_once=False)

    def forgotten(self) -> pa.Table:
        """Return the tombstones; empty if there is no such table yet."""
        if not _session().catalog.tableExists(self._table(_FORGOTTEN)):
            return FORGOTTEN_SCHEMA.empty_table()
        return _arrow(_session().table(self._table(_FORGOTTEN)), FORGOTTEN_SCHEMA)

    def forget(self, identifiers: Sequence[str], syncs: Sequence[str], tombstones: pa.Table) -> int:
        """Keep the tombstones, then erase the rows, those of superseded versions of a file included.

        Files that Delta and Iceberg keep for earlier versions of the table are deleted as well.
        """
        self._create()
        spark = _session()
        if tombstones.num_rows:
            added = spark.createDataFrame(tombstones).drop(PARTITION).coalesce(1)
            self._append(_FORGOTTEN, tombstones.column(PARTITION)[0].as_py(), added)
        wanted = spark.createDataFrame(pa.table({"record_identifier": pa.array(identifiers, pa.string())}))
        doomed = spark.table(self._table(RECORDS.name)).join(wanted, "record_identifier", "left_semi")
        if syncs:
            ledger = spark.table(self._table(_LEDGER)).where(F.col("sync_id").isin(*syncs))
            doomed = doomed.join(ledger, [PARTITION, "file_key"], "left_semi")
        return self._erase(doomed, at_once=True)

    def _erase(self, doomed: DataFrame, *, at_once: bool) -> int:
        """Delete rows of the records, given as such; return how many there were.

        Args:
            doomed: rows of the table of records.
            at_once: delete what is kept of them, and of those deleted before, for earlier versions, too.

        """
        table = open_table(doomed.sparkSession, self._table(RECORDS.name))
        counts = doomed.groupBy(PARTITION).count().collect()
        if counts:
            keys = doomed.select(PARTITION, "file_key", "row_no")
            table.erase(keys, [load[PARTITION] for load in counts])
        if at_once:
            table.purge(self._dead_before())
        return sum(load["count"] for load in counts)

    def _open_catalog(self, wait_seconds: float) -> None:
        """Touch the catalog, waiting while another process has its metastore."""
        deadline = time.monotonic() + wait_seconds
        while True:
            try:
                _session().catalog.databaseExists(self._schema)
            except SPARK_ERRORS as error:
                if not is_metastore_busy(error) or time.monotonic() >= deadline:
                    raise
                time.sleep(_POLL_SECONDS)
            else:
                return

    def _append(self, name: str, load_id: str, rows: DataFrame, unique_columns: Iterable[str] = ()) -> None:
        open_table(rows.sparkSession, self._table(name)).append(load_id, rows, unique_columns)

    def _create(self) -> None:
        if self._is_created:
            return
        spark = _session()
        spark.sql(f"create schema if not exists {_quoted(self._schema)}")
        there = {row.tableName for row in spark.sql(f"show tables in {_quoted(self._schema)}").collect()}
        table_class = new_table_class(spark, self._provider)
        tables = {
            **{table.name: table.schema for table in STAGED_TABLES},
            _LEDGER: _LEDGER_SCHEMA,
            _FORGOTTEN: FORGOTTEN_SCHEMA,
        }
        for name, schema in tables.items():
            if name not in there:
                columns = ", ".join(
                    f"{_quoted(field.name)} {field.dataType.simpleString()}"
                    for field in from_arrow_schema(schema)
                    if field.name != PARTITION
                )
                self._remove_half_made(name, table_class)
                spark.sql(table_class.ddl(self._table(name), columns))
        for name, query in self._views().items():
            if name not in there:
                self._remove_half_made(name, table_class)
                spark.sql(f"create view if not exists {self._table(name)} as {query}")
        self._is_created = True

    def _remove_half_made(self, name: str, table_class: type[SparkTable]) -> None:
        """Remove what a killed load has left of a table or view that it was making: it is in no catalog.

        A folder that holds anything else is left alone, and so is one that a load of another machine may be
        making.
        """
        root = self._root()
        if self._is_alone and root is not None:
            folder = f"{root}/{name}"
            if [entry for entry, _ in entries(_session(), folder)] == [table_class.half_made]:
                delete_folder(_session(), folder)

    def _is_local(self) -> bool:
        """Tell whether the tables lie where the lock is, so that whoever writes to them has to hold it."""
        spark = _session()
        if spark.conf.get("spark.sql.defaultCatalog", _OWN_CATALOG) != _OWN_CATALOG:
            return False
        root = self._root() if spark.catalog.databaseExists(_quoted(self._schema)) else None
        return root is None or _local_path(root) is not None

    def _root(self) -> str | None:
        """Return the folder in which the schema's tables lie, where the catalog has one."""
        described = _session().sql(f"describe schema {_quoted(self._schema)}").collect()
        return next((row.info_value for row in described if row.info_name == "Location"), None)

    def _views(self) -> dict[str, str]:
        files, ledger = f"({self._current_files()})", self._table(_LEDGER)
        return {
            "load_files": f"select {', '.join(FILES_SCHEMA.names)} from {files}",
            "load_history": f"select {', '.join(HISTORY_SCHEMA.names)} from {ledger} where path is null",
            "sync_tracking_records": records_view(files, self._table(RECORDS.name)),
            **small_views(files, self._table(RUN_METADATA.name), self._table(FACTS.name)),
        }

    def _current_files(self) -> str:
        columns = ", ".join(FILES_SCHEMA.names)
        return f"""
        select {columns} from (
            select {columns},
                row_number() over (partition by path order by loaded_at desc, load_id desc) as age_rank
            from {self._table(_LEDGER)} where path is not null
        ) where age_rank = 1
        """

    def _remove_dead_loads(self) -> None:
        """Remove what killed loads have written: folders of loads that no ledger entry commits."""
        if not self._has_ledger():
            return
        spark = _session()
        loaded = {name: open_table(spark, self._table(name)) for name in _LOADED}
        tables = [*loaded.values()]
        if spark.catalog.tableExists(self._table(_FORGOTTEN)):
            tables.append(open_table(spark, self._table(_FORGOTTEN)))
        for table in tables:
            table.refresh()
            table.remove_unfinished(is_alone=self._is_alone)
        ledger = self._table(_LEDGER)
        committed = {row.load_id for row in spark.sql(f"select distinct load_id from {ledger}").collect()}
        for table in loaded.values():
            dead = {
                folder: load_id
                for folder, load_id in table.load_folders()
                if load_id not in committed and (self._is_alone or _is_old(load_id))
            }
            for load_id in dead.values():
                table.delete_load(load_id)
            if dead:
                table.remove_orphans(self._dead_before())
            for folder in dead:
                delete_folder(spark, folder)

    def _dead_before(self) -> dt.datetime:
        """Return the moment before which whatever is not committed was written by a command that is dead."""
        now = dt.datetime.now(dt.UTC)
        return now if self._is_alone else now - _LONGEST_LOAD

    def _has_ledger(self) -> bool:
        return bool(_session().catalog.tableExists(self._table(_LEDGER)))

    def _select(self, view: str, schema: pa.Schema) -> pa.Table:
        # Views come after the tables: a load that was killed in between has left the tables alone.
        if not _session().catalog.tableExists(self._table(view)):
            return schema.empty_table()
        return _arrow(_session().table(self._table(view)), schema)

    def _table(self, name: str) -> str:
        return f"{_quoted(self._schema)}.{_quoted(name)}"


def _session() -> SparkSession:
    session = SparkSession.getActiveSession()
    if session is None:
        raise SparkError("the Spark catalog needs a running session; start one first")
    return session


def _arrow(rows: DataFrame, schema: pa.Schema) -> pa.Table:
    return rows.select(*schema.names).toArrow().cast(schema)


def _is_old(load_id: str) -> bool:
    return dt.datetime.now(dt.UTC) - begun_at(load_id) > _LONGEST_LOAD


def _local_path(location: str) -> Path | None:
    parsed = urlparse(location)
    return Path(unquote(parsed.path)) if parsed.scheme in {"", "file"} else None


def _quoted(name: str) -> str:
    return "`{}`".format(name.replace("`", "``"))
