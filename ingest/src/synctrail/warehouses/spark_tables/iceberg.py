"""Tables of Apache Iceberg."""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are quoted or our own

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from typing import ClassVar

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from synctrail.warehouses.spark_tables.base import PARTITION, SparkTable

_CATALOGS = ("org.apache.iceberg.spark.SparkSessionCatalog", "org.apache.iceberg.spark.SparkCatalog")
_COPY_ON_WRITE = "copy-on-write"
# All rows that a load appends are of one partition: to shuffle or sort them by it would serve nothing.
# Source: https://iceberg.apache.org/docs/1.11.0/spark-writes/#writing-distribution-modes
_AS_THEY_ARE = {"distribution-mode": "none", "fanout-enabled": "true"}


class IcebergTable(SparkTable):
    """An Iceberg table: an append is one snapshot."""

    provider = "iceberg"
    half_made = "metadata"
    # Source: https://iceberg.apache.org/docs/1.11.0/configuration/#table-properties
    properties: ClassVar[dict[str, str]] = {
        # Deleted rows leave the files: else they would stay there, hidden by files of deletes.
        "write.delete.mode": _COPY_ON_WRITE,
        "write.merge.mode": _COPY_ON_WRITE,
        "write.update.mode": _COPY_ON_WRITE,
        # By default, the metadata have each column's smallest and largest value: people's identifiers.
        "write.metadata.metrics.default": "counts",
        # Each snapshot writes the list of all; without this, no earlier list would ever go.
        "write.metadata.delete-after-commit.enabled": "true",
        # A load's files lie in a folder of their own, by which the next one finds what a killed one has left.
        "write.object-storage.enabled": "false",
    }

    @classmethod
    def is_in(cls, spark: SparkSession) -> bool:
        """Tell whether the session's current catalog is Iceberg's."""
        catalog = spark.conf.get("spark.sql.defaultCatalog", None) or "spark_catalog"
        return spark.conf.get(f"spark.sql.catalog.{catalog}", "") in _CATALOGS

    def append(self, load_id: str, rows: DataFrame, unique_columns: Iterable[str] = ()) -> None:
        """Append a load's rows as one snapshot."""
        writer = rows.withColumn(PARTITION, F.lit(load_id)).writeTo(self._name)
        writer.options(**_AS_THEY_ARE).append()

    def delete_load(self, load_id: str) -> None:
        """Delete the rows of a dead load as one snapshot."""
        self._spark.sql(f"delete from {self._name} where {PARTITION} = '{load_id}'")

    def erase(self, keys: DataFrame, load_ids: Iterable[str]) -> None:
        """Write the files that have such rows anew, as one snapshot."""
        # Spark 4.1 plans no merge whose view reads a table of Iceberg ("No plan for TableReference").
        self._merge_away(keys.localCheckpoint())

    def refresh(self) -> None:
        """Drop the table from the cache of Iceberg's catalog, which does not ask for what others commit."""
        self._spark.sql(f"refresh table {self._name}")

    def purge(self, dead_before: dt.datetime) -> None:
        """Delete the files of earlier snapshots, and those of commands that were killed."""
        name = self._name.replace("'", "\\'")
        self._spark.sql(
            f"call system.expire_snapshots(table => '{name}', older_than => current_timestamp(),"
            " retain_last => 1)"
        )
        self.remove_orphans(dead_before)

    def load_folders(self) -> Iterator[tuple[str, str]]:
        """List the folders of the loads' rows, which lie beside that of the metadata."""
        return self._folders(f"{self._location}/data", PARTITION)

    def remove_orphans(self, dead_before: dt.datetime) -> None:
        """Delete files that no snapshot has.

        By Iceberg's own action: its procedure refuses files of the last day, as they may be a living load's.
        Source: https://iceberg.apache.org/docs/1.11.0/spark-procedures/#remove_orphan_files
        """
        java = self._spark._jvm.org.apache.iceberg.spark  # type: ignore[union-attr]
        session = self._spark._jsparkSession
        table = java.Spark3Util.loadIcebergTable(session, self._name)
        action = java.actions.SparkActions.get(session).deleteOrphanFiles(table)
        action.olderThan(int(dead_before.timestamp() * 1000)).execute()
