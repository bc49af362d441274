"""Tables of plain Parquet: folders of files, which a partition of the catalog points to."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from synctrail.stage import RECORDS, delete_folder, write_parquet
from synctrail.warehouses.spark_tables.base import PARTITION, SparkTable

# Where a partition is written anew: its place is this folder and the usual one by turns.
_REWRITTEN = "rewritten"


class ParquetTable(SparkTable):
    """A table of plain Parquet: to point a partition to a folder is one step."""

    provider = "parquet"

    @classmethod
    def is_in(cls, spark: SparkSession) -> bool:
        """Every session can make one."""
        return True

    def append(self, load_id: str, rows: DataFrame, unique_columns: Iterable[str] = ()) -> None:
        """Write the rows to a folder of their own, then tell the catalog.

        Two jobs that append to one folder would share, and clear away, its _temporary.
        """
        write_parquet(rows, f"{self._location}/{PARTITION}={load_id}", unique_columns)
        self._spark.sql(f"alter table {self._name} add if not exists partition ({PARTITION} = '{load_id}')")

    def delete_load(self, load_id: str) -> None:
        """Take a dead load's partition out of the catalog."""
        self._spark.sql(f"alter table {self._name} drop if exists partition ({PARTITION} = '{load_id}')")

    def erase(self, keys: DataFrame, load_ids: Iterable[str]) -> None:
        """Write each load's partition anew without the rows."""
        # The folders that they are read from are gone after the first partition.
        kept_keys = keys.localCheckpoint()
        for load_id in load_ids:
            self._rewrite(load_id, kept_keys)

    def remove_unfinished(self, *, is_alone: bool) -> None:
        """Remove what a command that was killed while it erased rows has left: one of the two places."""
        for rewritten, load_id in self._folders(self._location, _REWRITTEN):
            place = self._partition_place(load_id)
            usual = f"{self._location}/{PARTITION}={load_id}"
            delete_folder(self._spark, usual if place == rewritten else rewritten)

    def _rewrite(self, load_id: str, doomed: DataFrame) -> None:
        """Write a partition anew without some rows; readers see the old one or the new."""
        places = {f"{self._location}/{name}={load_id}" for name in (PARTITION, _REWRITTEN)}
        current = self._partition_place(load_id)
        (fresh,) = places - {current}
        rows = self._spark.table(self._name).where(F.col(PARTITION) == load_id)
        kept = rows.join(doomed, doomed.columns, "left_anti")
        write_parquet(kept.drop(PARTITION), fresh, RECORDS.unique_columns, mode="overwrite")
        self._spark.sql(
            f"alter table {self._name} partition ({PARTITION} = '{load_id}') set location '{fresh}'"
        )
        delete_folder(self._spark, current)

    def _partition_place(self, load_id: str) -> str:
        statement = f"describe table extended {self._name} partition ({PARTITION} = '{load_id}')"
        # The first is the partition's own; that of the table follows.
        return str(
            next(r.data_type for r in self._spark.sql(statement).collect() if r.col_name == "Location")
        )
