"""Measures the loader against what Spark does bare, and prints each figure beside its yardstick.

    python benchmarks/ingest.py [--only PART,...] [--work DIR] [--rounds N]

It writes its lakes and what it loads to a folder of its own in DIR (default: .cache of the checkout) and
removes it at the end. Yardstick and loader take turns; the figures are medians. The parts are:

    staging   many rows to staged Parquet, beside Spark's bare read and write; then to DuckDB
    growth    four times the rows in four times the files: seconds per million rows (not run by default)
    files     a load with nothing new in many files, beside Spark's bare listing; its memory
    s3        a lake on S3, served by moto on this machine, beside the same lake in local files
    commits   the last step of a load into each warehouse that runs here, beside the steps before it; into
              Iceberg with --iceberg, as a session has it or Delta
"""

from __future__ import annotations

import argparse
import datetime as dt
import io
import json
import logging
import os
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console

from report import CHECKOUT, Figure, folder_in, options_with_work, peak_mb, peak_of_command, show
from synctrail.dbt_target import read_target
from synctrail.jars import delta_jars, iceberg_jars, s3_jars
from synctrail.lake import RECORDS_PREFIX, list_lake
from synctrail.load import load
from synctrail.plan import make_plan
from synctrail.progress import Reporter
from synctrail.spark_session import spark_session
from synctrail.stage import LOAD_SETTINGS, RECORDS, STAGE_SETTINGS, outcomes_in, rows_of, spark_settings
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.choose import open_warehouse
from synctrail.warehouses.duckdb import DuckDbWarehouse
from synctrail.warehouses.postgres import PostgresWarehouse
from synctrail.warehouses.spark import SparkWarehouse

# The servers of the tests.
sys.path += [str(CHECKOUT / "ingest" / "tests"), str(CHECKOUT / "integration_tests")]
from warehouses.postgres_server import PostgresServer
from warehouses.spark_catalog import ICEBERG_SETTINGS

DRIVER_MEMORY = "2g"
READ_LIMIT = 1.4
GROWTH_LIMIT = 1.2
LIST_LIMIT = 1.5
SCHEMA = "census_lake"
STARTED = dt.datetime(2025, 11, 20, 10, tzinfo=dt.UTC)


def write_records(
    root: Path, files: int, rows_per_file: int, *, sync: int = 7, files_per_run: int = 10
) -> None:
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
            / str(sync)
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
    warehouse = DuckDbWarehouse(folder / "staged.duckdb", SCHEMA)

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
    load(spark, warehouse, str(lake), Stopwatch())
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


def measure_growth(spark: SparkSession, folder: Path, rows: int, rounds: int) -> list[Figure]:
    """Compare the load of a lake with that of one four times as large, all of whose files are as large."""
    rows_per_file, times = 10_000, 4
    small, large = folder / "small", folder / "large"
    write_records(small, rows // rows_per_file, rows_per_file)
    write_records(large, times * rows // rows_per_file, rows_per_file)
    yardstick, ours = in_turns(
        rounds,
        lambda: load_anew(spark, small, folder, rows),
        lambda: load_anew(spark, large, folder, times * rows),
    )
    per_million, per_million_small = ours / (times * rows / 1e6), yardstick / (rows / 1e6)
    return [
        Figure(
            f"{times * rows:,} rows in {times * rows // rows_per_file:,} files to DuckDB: per million",
            f"{per_million:.2f} s",
            f"{rows:,} rows in {rows // rows_per_file:,} files: {per_million_small:.2f} s",
            f"{per_million / per_million_small:.2f}",
            f"{GROWTH_LIMIT}",
        ),
        Figure("the same, in all", f"{ours:.1f} s", f"{yardstick:.1f} s"),
    ]


def load_anew(spark: SparkSession, lake: Path | str, folder: Path, rows: int) -> None:
    """Load a lake of so many rows into a DuckDB database of its own, without what it held before."""
    database = folder / "anew.duckdb"
    database.unlink(missing_ok=True)
    history = load(spark, DuckDbWarehouse(database, SCHEMA), str(lake), Stopwatch()).history
    if history["rows_loaded"] != rows:
        raise AssertionError(json.dumps(history, default=str))


def measure_nothing_new(spark: SparkSession, folder: Path, files: int, rounds: int) -> list[Figure]:
    """Compare a load with nothing new with a bare listing, and count the bytes that it reads."""
    lake = folder / "many"
    write_records(lake, files, 1)
    warehouse = demo_warehouse("duckdb")
    begun = time.perf_counter()
    load(spark, warehouse, str(lake), Stopwatch())
    first = time.perf_counter() - begun

    def bare() -> None:
        source = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
        listed = source.load(f"file:{lake / RECORDS_PREFIX}").select("path", "length", "modificationTime")
        if listed.toArrow().num_rows != files:
            raise AssertionError("the listing is not whole")

    def nothing_new() -> None:
        history = load(spark, warehouse, str(lake), Stopwatch()).history
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
        Figure(
            "the driver's memory in it, in a process of its own",
            f"{memory_of_load(lake, folder):,} MB, Python and Java together",
            f"Java's heap at most {DRIVER_MEMORY}",
        ),
        Figure(f"the first load of these {files:,} files", f"{first:.1f} s", f"{files / first:,.0f} files/s"),
    ]


def memory_of_load(lake: Path, folder: Path) -> int:
    """Return the most memory of a load by the command line into the demo's DuckDB target, in MB."""
    command: list[str | Path] = [sys.executable, "-m", "synctrail", "load", lake, "--target", "duckdb"]
    settings = ["--conf", "spark.master=local[2]", "--conf", f"spark.driver.memory={DRIVER_MEMORY}"]
    return peak_of_command([*command, *settings], CHECKOUT / "demo", os.environ, folder / "output")


def measure_s3(spark: SparkSession, folder: Path, rows: int, files: int, rounds: int) -> list[Figure]:
    """Compare a lake on S3 with the same lake in local files, and count the requests for each file."""
    # The tests' store, of which there is one; its packages are there only with the development tools.
    from object_store import BUCKET, object_store  # noqa: PLC0415

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    lake = folder / "on-s3"
    write_records(lake, files, rows // files)
    with object_store() as store:
        for file in lake.rglob("*.parquet"):
            store.client.upload_file(file, BUCKET, str(file.relative_to(folder)))
        store.reach_from(spark)
        url = f"s3a://{BUCKET}/{lake.name}"
        yardstick, ours = in_turns(
            rounds,
            lambda: load_anew(spark, lake, folder, rows),
            lambda: load_anew(spark, url, folder, rows),
        )
        store.requests.clear()
        load_anew(spark, url, folder, rows)
    return [
        Figure(
            f"{rows:,} rows in {files:,} files on S3 (moto) to DuckDB",
            f"{ours:.1f} s",
            f"the same from local files: {yardstick:.1f} s",
            f"{ours / yardstick:.2f}",
        ),
        Figure("requests to the store in it", f"{len(store.requests):,}", f"{files:,} files"),
    ]


def measure_commits(spark: SparkSession, folder: Path, rows: int, files: int, rounds: int) -> list[Figure]:
    """Compare the commit into each warehouse with the reading and staging of the same rows, before it.

    Each round is a sync of its own, so that each commit adds rows to those of the rounds before.
    """
    server = PostgresServer()
    postgres = {"host": "127.0.0.1", "port": server.port, "user": "postgres", "dbname": "postgres"}
    warehouses: dict[str, Warehouse] = {
        "DuckDB": DuckDbWarehouse(folder / "commits.duckdb", SCHEMA),
        "Postgres (without fsync)": PostgresWarehouse(postgres, SCHEMA),
        "plain Parquet": SparkWarehouse("commits_parquet", {}, provider="parquet"),
    }
    extensions = (spark.conf.get("spark.sql.extensions", "") or "").lower()
    for name in ("Delta", "Iceberg"):
        if name.lower() in extensions:
            warehouses[name] = SparkWarehouse(f"commits_{name.lower()}", {}, provider=name.lower())
    steps: dict[str, list[Stopwatch]] = defaultdict(list)
    bare: list[float] = []
    for number in range(rounds + 1):
        lake = folder / f"commits-{number}"
        write_records(lake, files, rows // files, sync=number)
        for name, warehouse in warehouses.items():
            steps[name].append(Stopwatch())
            load(spark, warehouse, str(lake), steps[name][-1])
        begun = time.perf_counter()
        with duckdb.connect(folder / "bare.duckdb") as connection:
            connection.execute(
                f"create or replace table bare as select * from read_parquet('{lake}/**/*.parquet')"
            )
        bare.append(time.perf_counter() - begun)
    server.stop()

    def median(name: str, step: str) -> float:
        return statistics.median(watch.seconds[step] for watch in steps[name][1:])

    in_duckdb, copied = median("DuckDB", "committing"), statistics.median(bare[1:])
    return [
        *(
            Figure(
                f"commit of {rows:,} rows in {files:,} files to {name}",
                f"{median(name, 'committing'):.2f} s",
                f"reading and staging them: {median(name, 'reading'):.2f} s",
                f"{median(name, 'committing') / median(name, 'reading'):.2f}",
            )
            for name in warehouses
        ),
        Figure(
            "the same to DuckDB",
            f"{in_duckdb:.2f} s",
            f"its bare copy of the lake's files: {copied:.2f} s",
            f"{in_duckdb / copied:.2f}",
        ),
    ]


def bytes_read(spark: SparkSession) -> int:
    """Return the bytes that this process's Hadoop has read from local files so far, executors included."""
    java: Any = spark._jvm
    statistics_of_schemes = java.org.apache.hadoop.fs.FileSystem.getAllStatistics()
    return sum(one.getBytesRead() for one in statistics_of_schemes if one.getScheme() == "file")


class Stopwatch(Reporter):
    """A reporter that nobody hears; ``seconds`` are those of each step of a load."""

    def __init__(self) -> None:
        super().__init__(Console(file=io.StringIO()))
        self.seconds: dict[str, float] = {}

    @contextmanager
    def working(self, label: str, event: str, **known: Any) -> Iterator[None]:
        """Time the block."""
        begun = time.perf_counter()
        with super().working(label, event, **known):
            yield
        self.seconds[event] = time.perf_counter() - begun


def demo_warehouse(target: str) -> Warehouse:
    """Return the warehouse of one of the demo's targets."""
    return open_warehouse(read_target(project_dir=CHECKOUT / "demo", target=target))


def start_spark(folder: Path, *, iceberg: bool) -> SparkSession:
    """Start Spark with the demo's settings: Delta or Iceberg, and S3, where their jars can be had."""
    cache = CHECKOUT / ".cache"
    formats = iceberg_jars(cache / "iceberg-jars") if iceberg else delta_jars(cache / "jars")
    os.environ |= {
        "SYNCTRAIL_DEMO_DIR": str(folder),
        "SYNCTRAIL_DEMO_MEMORY": DRIVER_MEMORY,
        # Spark's own way, which suits much data.
        "SYNCTRAIL_DEMO_CODEGEN": "FALLBACK",
        "SYNCTRAIL_DEMO_JARS": ",".join(map(str, [*formats, *s3_jars(cache / "s3-jars")])),
        "AWS_ACCESS_KEY_ID": "none",
        "AWS_SECRET_ACCESS_KEY": "none",
    }
    settings = demo_warehouse("spark" if formats else "spark_parquet").spark_config()
    return spark_session({**settings, **(ICEBERG_SETTINGS if iceberg else {})}, hive=True)


def parts_of(text: str) -> list[str]:
    """Return the parts that ``--only`` names."""
    parts = text.split(",")
    if unknown := set(parts) - set(PARTS):
        raise argparse.ArgumentTypeError(f"no part {', '.join(unknown)}; there are {', '.join(PARTS)}")
    return parts


PARTS: dict[str, Callable[[SparkSession, Path, argparse.Namespace], list[Figure]]] = {
    "staging": lambda spark, folder, given: measure_staging(
        spark, folder, given.rows, given.files, given.rounds
    ),
    "growth": lambda spark, folder, given: measure_growth(spark, folder, given.rows, given.rounds),
    "files": lambda spark, folder, given: measure_nothing_new(spark, folder, given.many_files, given.rounds),
    "s3": lambda spark, folder, given: measure_s3(spark, folder, given.rows // 10, given.files, given.rounds),
    "commits": lambda spark, folder, given: measure_commits(
        spark, folder, given.rows // 5, given.files, given.rounds
    ),
}


def main() -> None:
    """Measure and print."""
    parser = options_with_work(__doc__)
    parser.add_argument(
        "--only", type=parts_of, default="staging,files,s3,commits", help=f"of {', '.join(PARTS)}"
    )
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--many-files", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--iceberg", action="store_true", help="a session with Iceberg in Delta's place")
    options = parser.parse_args()
    with folder_in(options.work) as folder:
        spark = start_spark(folder, iceberg=options.iceberg)
        figures = [figure for part in options.only for figure in PARTS[part](spark, folder, options)]
        spark.stop()
    show(figures)


if __name__ == "__main__":
    main()
