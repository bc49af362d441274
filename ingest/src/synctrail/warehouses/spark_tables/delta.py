"""Tables of Delta Lake."""

# ruff: noqa: S608 - names of tables and columns cannot be parameters; all are quoted or our own

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from synctrail.stage import delete_folder, spark_settings
from synctrail.warehouses.spark_tables.base import PARTITION, SparkTable, entries

_LOG = "_delta_log"
# What Delta writes before it gives it the name of a log's entry.
_UNFINISHED = re.compile(r"\.tmp(\.crc)?$")
_CATALOG = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
_VACUUM = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # In so many tasks it lists the table's folders; else in 10,000, which take minutes where folders are few.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "64",
}


class DeltaTable(SparkTable):
    """A Delta table: an append is one entry of its log."""

    provider = "delta"
    # Delta refuses to make a table in such a folder.
    half_made = _LOG

    @classmethod
    def is_in(cls, spark: SparkSession) -> bool:
        """Tell whether the session's catalog is Delta's."""
        return spark.conf.get("spark.sql.catalog.spark_catalog", "") == _CATALOG

    def append(self, load_id: str, rows: DataFrame, unique_columns: Iterable[str] = ()) -> None:
        """Append a load's rows in one commit."""
        rows.withColumn(PARTITION, F.lit(load_id)).writeTo(self._name).append()

    def delete_load(self, load_id: str) -> None:
        """Delete the rows of a dead load."""
        self._spark.sql(f"delete from {self._name} where {PARTITION} = '{load_id}'")

    def erase(self, keys: DataFrame, load_ids: Iterable[str]) -> None:
        """Delete rows in one commit."""
        self._merge_away(keys)

    def purge(self, dead_before: dt.datetime) -> None:
        """Delete the files of earlier versions of the table, and those of commands that were killed.

        A file that is in no version may be a living load's: the lite vacuum, which deletes what the log has
        removed, touches none of them. It needs to know of a full one before it.
        Source: https://docs.delta.io/delta-utility/#remove-files-no-longer-referenced-by-a-delta-table
        """
        hours = (dt.datetime.now(dt.UTC) - dead_before) // dt.timedelta(hours=1)
        with spark_settings(self._spark, _VACUUM):
            self._spark.sql(f"vacuum {self._name} retain {hours} hours")
            if hours:
                self._spark.sql(f"vacuum {self._name} lite retain 0 hours")

    def remove_unfinished(self, *, is_alone: bool) -> None:
        """Remove entries of the log that have not got their name."""
        if not is_alone:
            return
        for entry, place in entries(self._spark, f"{self._location}/{_LOG}"):
            if _UNFINISHED.search(entry):
                delete_folder(self._spark, place)
