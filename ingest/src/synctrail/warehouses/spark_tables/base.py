"""What a load does with a table of the Spark catalog, whatever the table's format."""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Final

from pyspark.sql import DataFrame, SparkSession

PARTITION: Final = "load_id"
"""The column by which every table is partitioned: a load writes into a partition of its own.

Without an underscore before it: Hive's metastore cannot filter partitions by such a name.
"""


class SparkTable(ABC):
    """A table of the Spark catalog.

    Args:
        spark: the session.
        name: the quoted name.
        location: the folder in which the table lies.

    """

    provider: ClassVar[str]
    """The format as ``create table ... using`` wants it, and as the catalog tells it."""

    properties: ClassVar[dict[str, str]] = {}
    """What new tables are made with."""

    half_made: ClassVar[str | None] = None
    """The one entry of the folder of a table whose creation was killed, so that no catalog has it."""

    def __init__(self, spark: SparkSession, name: str, location: str) -> None:
        self._spark = spark
        self._name = name
        self._location = location

    @classmethod
    @abstractmethod
    def is_in(cls, spark: SparkSession) -> bool:
        """Tell whether the session can make such tables."""

    @classmethod
    def ddl(cls, name: str, columns: str) -> str:
        """Return the statement that makes a table; ``columns`` are all but that of the partition."""
        properties = ", ".join(f"'{key}' = '{value}'" for key, value in cls.properties.items())
        return (
            f"create table if not exists {name} ({columns}, {PARTITION} string)"
            f" using {cls.provider} partitioned by ({PARTITION})"
            + (f" tblproperties ({properties})" if properties else "")
        )

    @abstractmethod
    def append(self, load_id: str, rows: DataFrame, unique_columns: Iterable[str] = ()) -> None:
        """Append a load's rows; ``unique_columns`` are those of :class:`~synctrail.stage.StagedTable`."""

    @abstractmethod
    def delete_load(self, load_id: str) -> None:
        """Delete the rows of a load that is dead; its folder goes afterwards."""

    @abstractmethod
    def erase(self, keys: DataFrame, load_ids: Iterable[str]) -> None:
        """Delete rows: those that have one of the keys, all of which are of these loads."""

    def refresh(self) -> None:
        """Forget what the session knows of the table: another process may have written to it."""

    def purge(self, dead_before: dt.datetime) -> None:
        """Remove from disk what was deleted: the files of earlier versions, and of commands that were killed.

        Args:
            dead_before: a file that is older and in no version of the table is of a command that was killed.

        """

    def remove_unfinished(self, *, is_alone: bool) -> None:
        """Remove what a killed command has half written, as far as a glance tells it.

        Args:
            is_alone: no other command is at work.

        """

    def remove_orphans(self, dead_before: dt.datetime) -> None:
        """Remove what the commit of a dead load may have written, wherever it lies; as for :meth:`purge`."""

    def load_folders(self) -> Iterator[tuple[str, str]]:
        """List the folders of the loads' rows: their places, and their load's id."""
        return self._folders(self._location, PARTITION)

    def _folders(self, location: str, kind: str) -> Iterator[tuple[str, str]]:
        for name, place in entries(self._spark, location):
            key, separator, load_id = name.partition("=")
            if separator and key == kind:
                yield place, load_id

    def _merge_away(self, keys: DataFrame) -> None:
        keys.createOrReplaceTempView("synctrail_doomed")
        matched = " and ".join(f"r.{name} = d.{name}" for name in keys.columns)
        self._spark.sql(
            f"merge into {self._name} r using synctrail_doomed d on {matched} when matched then delete"
        )
        self._spark.catalog.dropTempView("synctrail_doomed")


def entries(spark: SparkSession, folder: str) -> list[tuple[str, str]]:
    """List the names and the places of what is in a folder; nothing if it is not there."""
    path: Any = spark._jvm.org.apache.hadoop.fs.Path(folder)  # type: ignore[union-attr]
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    paths = [status.getPath() for status in files.listStatus(path)] if files.exists(path) else []
    return [(path.getName(), path.toString()) for path in paths]
