"""Measures the loader against what Spark does bare, and prints each figure beside its yardstick.

    python benchmarks/ingest.py [--work DIR] [--rounds N]

It writes its lakes and what it loads to a folder of its own in DIR (default: .cache of the checkout) and
removes it at the end. Yardstick and loader take turns; the figures are medians.
"""

from __future__ import annotations

import datetime as dt
import io
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console

from report import Figure, folder_in, options_with_work, peak_mb, show
from synctrail.lake import RECORDS_PREFIX, list_lake
from synctrail.load import load
from synctrail.plan import make_plan
from synctrail.progress import Reporter
from synctrail.spark_session import spark_session
from synctrail.stage import LOAD_SETTINGS, RECORDS, STAGE_SETTINGS, outcomes_in, rows_of, spark_settings
from synctrail.warehouses.duckdb import DuckDbWarehouse

DRIVER_MEMORY = "2g"
READ_LIMIT = 1.4
LIST_LIMIT = 1.5
STARTED = dt.datetime(2025, 11, 20, 10, tzinfo=dt.UTC)


def write_records(root: Path, files: int, rows_per_file: int, *, files_per_run: int = 10) -> None:
    """Write record files of one sync, ``files_per_run`` to a run."""
    numbers = pa.array(np.arange(rows_per_file)).cast(pa.string())
    plans = pa.array(["free", "pro", "team"]).take(pa.array(np.arange(rows_per_file) % 3))
    rejected = pa.array(np.arange(rows_per_file) % 50 == 0)
    started = pa.repeat(pa.scalar(STARTED, pa.timestamp("us", "UTC")), rows_per_file)
    for number in range(files):
        users = pc.binary_join_element_wise(f"user-{number}-", numbers, "")
        columns = {
            "census_sync_tracking_internal_id": pc.binary_join_element_wise(
                f"{number:08x}-124a-4643-9872-", pc.utf8_lpad(numbers, 12, "0"), ""
            ),
            "identifier": users,
            "record_payload": pc.binary_join_element_wise(
                '{"email":"',
                users,
                '@example.com","name":"Name ',
                numbers,
                '","plan":"',
                plans,
                '","last_seen":"2025-11-19T00:00:00Z","tags":["a","b"],"city":"Berlin"}',
                "",
            ),
            "operation": pa.repeat("upsert", rows_per_file),
            "status": pc.if_else(rejected, "rejected", "succeeded"),
            "status_message": pc.if_else(
                rejected, pc.binary_join_element_wise("INVALID_EMAIL: ", users, ""), None
            ),
            "batch_started_at": started,
            "batch_ended_at": started,
        }
        file = (
            root
            / RECORDS_PREFIX
            / "1"
            / "7"
            / str(1000 + number // files_per_run)
            / f"records_updated.{number}.parquet"
        )
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), file)


def in_turns(rounds: int, yardstick: Callable[[], None], ours: Callable[[], None]) -> tuple[float, float]:
    """Return the median seconds of each, after one round that does not count."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds + 1):
        for work, taken in zip((yardstick, ours), times, strict=True):
            begun = time.perf_counter()
            work()
            taken.append(time.perf_counter() - begun)
    bare, loaded = (statistics.median(taken[1:]) for taken in times)
    return bare, loaded


def measure_staging(spark: SparkSession, folder: Path, rows: int, files: int, rounds: int) -> list[Figure]:
    """Compare staging with a bare read and write of the same files."""
    lake, bare_copy = folder / "lake", folder / "bare"
    write_records(lake, files, rows // files)
    warehouse = DuckDbWarehouse(folder / "staged.duckdb", "census_lake")

    def bare() -> None:
        read = spark.read.option("recursiveFileLookup", "true").parquet(f"file:{lake / RECORDS_PREFIX}")
        read.write.mode("overwrite").parquet(f"file:{bare_copy}")

    def staged() -> None:
        with spark_settings(spark, LOAD_SETTINGS), warehouse.lock(0):
            listing = list_lake(spark, str(lake))
            plan = make_plan(listing.files, warehouse.ledger())
            with spark_settings(spark, STAGE_SETTINGS):
                frame = warehouse.stage("load", RECORDS, rows_of(listing, plan.files, RECORDS))
            read = sum(outcome.row_count or 0 for outcome in outcomes_in(frame))
        if read != rows:
            raise AssertionError(f"{read} rows were staged, not {rows}")

    yardstick, ours = in_turns(rounds, bare, staged)
    begun = time.perf_counter()
    load(spark, warehouse, str(lake), quiet_reporter())
    whole = time.perf_counter() - begun
    return [
        Figure(
            f"{rows:,} rows in {files} files to staged Parquet",
            f"{ours:.1f} s",
            f"bare read and write: {yardstick:.1f} s",
            f"{ours / yardstick:.2f}",
            f"{READ_LIMIT}",
        ),
        Figure("the same, committed to DuckDB", f"{whole:.1f} s", f"{rows / whole:,.0f} rows/s"),
        Figure(
            "the driver's memory after it",
            f"{peak_mb():,} MB, Python and Java together",
            f"Java's heap at most {DRIVER_MEMORY}",
        ),
    ]


def measure_nothing_new(spark: SparkSession, folder: Path, files: int, rounds: int) -> list[Figure]:
    """Compare a load with nothing new with a bare listing, and count the bytes that it reads."""
    lake = folder / "many"
    write_records(lake, files, 1)
    warehouse = DuckDbWarehouse(folder / "many.duckdb", "census_lake")
    begun = time.perf_counter()
    load(spark, warehouse, str(lake), quiet_reporter())
    first = time.perf_counter() - begun

    def bare() -> None:
        source = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        listed = source.load(f"file:{lake / RECORDS_PREFIX}").select("path", "length", "modificationTime")
        if listed.toArrow().num_rows != files:
            raise AssertionError("the listing is not whole")

    def nothing_new() -> None:
        history = load(spark, warehouse, str(lake), quiet_reporter()).history
        if (history["files_seen"], history["files_loaded"]) != (files, 0):
            raise AssertionError(json.dumps(history, default=str))

    yardstick, ours = in_turns(rounds, bare, nothing_new)
    before = bytes_read(spark)
    nothing_new()
    return [
        Figure(
            f"a load with nothing new in {files:,} files",
            f"{ours:.2f} s",
            f"bare listing: {yardstick:.2f} s",
            f"{ours / yardstick:.2f}",
            f"{LIST_LIMIT}",
        ),
        Figure("bytes that Spark reads in it", str(bytes_read(spark) - before), "none", limit="0"),
        Figure(f"the first load of these {files:,} files", f"{first:.1f} s", f"{files / first:,.0f} files/s"),
    ]


def bytes_read(spark: SparkSession) -> int:
    """Return the bytes that this process's Hadoop has read from local files so far, executors included."""
    java: Any = spark._jvm
    statistics_of_schemes = java.org.apache.hadoop.fs.FileSystem.getAllStatistics()
    return sum(one.getBytesRead() for one in statistics_of_schemes if one.getScheme() == "file")


def quiet_reporter() -> Reporter:
    """Return a reporter that nobody hears."""
    return Reporter(Console(file=io.StringIO()))


def main() -> None:
    """Measure and print."""
    parser = options_with_work(__doc__)
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--many-files", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with folder_in(options.work) as folder:
        spark = spark_session({"spark.master": "local[2]", "spark.driver.memory": DRIVER_MEMORY})
        figures = measure_staging(spark, folder, options.rows, options.files, options.rounds)
        figures += measure_nothing_new(spark, folder, options.many_files, options.rounds)
        spark.stop()
    show(figures)


if __name__ == "__main__":
    main()
