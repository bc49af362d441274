"""Executors read the planned files; their rows go to the warehouse's staging, their outcomes come back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema

from synctrail import contract
from synctrail.lake import Listing
from synctrail.plan import PlannedFile
from synctrail.privacy import NO_PRIVACY, Privacy
from synctrail.read import (
    FACTS_SCHEMA,
    RECORDS_SCHEMA,
    RUN_METADATA_SCHEMA,
    Outcome,
    read_facts,
    read_records,
    read_run_metadata,
)

LOAD_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Times before 1582 are written as they are, instead of refused.
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
}
STAGE_SETTINGS = {
    # One Arrow batch is one file: its bytes are handed over whole, and no two big files at once.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
}

Reader = Callable[[str, pa.Buffer], Iterator[pa.RecordBatch]]


@dataclass(frozen=True)
class StagedTable:
    """One of the tables into which a load's rows go before they are committed.

    ``unique_columns`` hardly repeat within a file: a dictionary for them costs time and saves nothing.
    """

    name: str
    schema: pa.Schema
    reader: Reader
    unique_columns: tuple[str, ...] = ()


RECORDS = StagedTable(
    "synctrail_records", RECORDS_SCHEMA, read_records, ("row_no", "internal_id", "record_payload")
)
RUN_METADATA = StagedTable("synctrail_run_metadata", RUN_METADATA_SCHEMA, read_run_metadata)
FACTS = StagedTable("synctrail_facts", FACTS_SCHEMA, read_facts)
STAGED_TABLES = (RECORDS, RUN_METADATA, FACTS)


def staged_table(kind: str | None) -> StagedTable:
    """Return the table into which files of a kind are staged."""
    return {contract.RECORDS: RECORDS, contract.RUN_METADATA: RUN_METADATA}.get(kind or "", FACTS)


def rows_of(
    listing: Listing, files: list[PlannedFile], table: StagedTable, privacy: Privacy = NO_PRIVACY
) -> DataFrame:
    """Return the rows, and one outcome each, of some of a listing's files; nothing is read yet.

    A file that is gone by the time it is read has neither rows nor an outcome.
    """
    reader, prefix, has_people = table.reader, listing.prefix, table is RECORDS

    def read(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        for batch in batches:
            for path, content in zip(batch.column("path"), batch.column("content"), strict=True):
                below = path.as_py().removeprefix(prefix)
                rows = reader(below, content.as_buffer())
                yield from privacy.apply(below, rows) if has_people else rows

    chosen = listing.source.where(_only(files, listing)).select("path", "content")
    return chosen.mapInArrow(read, from_arrow_schema(table.schema))


def write_parquet(
    rows: DataFrame, folder: str, unique_columns: Iterable[str] = (), *, mode: str = "error"
) -> None:
    """Write rows as Parquet; ``unique_columns`` are those of :class:`StagedTable`."""
    writer = rows.write.mode(mode)
    for column in unique_columns:
        writer = writer.option(f"parquet.enable.dictionary#{column}", "false")
    writer.parquet(folder)


def stage_as_parquet(folder: Path | str, table: StagedTable, rows: DataFrame) -> DataFrame:
    """Write a load's rows to a folder, or a URL, that driver and executors share; return them as written."""
    place = folder if isinstance(folder, str) else f"file:{folder}"
    write_parquet(rows, place, table.unique_columns)
    return rows.sparkSession.read.option("__globPaths__", "false").parquet(place)


def delete_folder(spark: SparkSession, place: str) -> None:
    """Delete a file or folder of any Hadoop filesystem, if it is there."""
    path: Any = spark._jvm.org.apache.hadoop.fs.Path(place)  # type: ignore[union-attr]
    path.getFileSystem(spark._jsc.hadoopConfiguration()).delete(path, True)


def outcomes_in(staged: DataFrame) -> list[Outcome]:
    """Collect the outcomes from what was staged: one row per file, whatever the number of rows."""
    found = staged.where("_outcome is not null").select("_outcome").toArrow()
    return [Outcome.from_json(text) for text in found.column("_outcome").to_pylist()]


@contextmanager
def spark_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set some of a session's runtime settings for the time of the block."""
    before: dict[str, str | None] = {name: spark.conf.get(name, None) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


def _only(files: list[PlannedFile], listing: Listing) -> str:
    """Return the condition for these files alone; Spark applies it to its listing, before it opens any file.

    It names the files to read or those to leave out, whichever are fewer.
    """
    wanted = {file.url for file in files}
    if 2 * len(wanted) <= listing.files.num_rows:
        return f"_metadata.file_path in ({_literals(wanted)})"
    others = set(listing.files.column("url").to_pylist()) - wanted
    return f"_metadata.file_path not in ({_literals(others)})" if others else "true"


def _literals(values: Iterable[str]) -> str:
    escaped = (value.replace("\\", "\\\\").replace("'", "\\'") for value in sorted(values))
    return ", ".join(f"'{value}'" for value in escaped)
