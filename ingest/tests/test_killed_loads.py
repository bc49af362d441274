"""Loads that are killed at the worst moments, and the load after them (rule L2 of the contract)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import psycopg
import pytest
from commands import (
    SERVERS,
    SMALL,
    SOURCE,
    SYNCTRAIL,
    catalog_target,
    restarted,
    run_script,
    search_path,
    write_profile,
)
from conftest import OWN_WAREHOUSES, Loader, make_loader, new_target, postgres_settings
from lakes import Lake, record_columns

from synctrail.warehouses.postgres import PostgresWarehouse

RUN = "1/22/333"
MANY_KILLS = int(os.environ.get("SYNCTRAIL_TEST_KILLS", "50"))
KILLS_PER_ROUND = 10
# A Delta table has its partitions by itself; to one of plain Parquet they are told. Each has a moment in its
# commit, the last, which is tried by default but on plain Parquet; the others are for those who have time.
MOMENTS = {
    "duckdb": ("while staging", "before commit", "within commit"),
    "parquet": ("before commit", "before partition"),
    "delta": ("while staging", "before commit", "within ledger"),
    "iceberg": ("while staging", "before commit", "within ledger"),
}
CATALOGS = ("parquet", "delta", "iceberg")
IN_THE_COMMIT = pytest.param(slice(-1, None), id="in the commit")
AT_ALL_MOMENTS = pytest.param(slice(None), id="at all moments", marks=pytest.mark.slow)

RELATIONS = """
select c.relkind::text || ' ' || n.nspname || '.' || c.relname
from pg_class c
join pg_namespace n on n.oid = c.relnamespace
where n.nspname not in ('information_schema', 'pg_catalog', 'pg_toast')
"""

# "while staging" and "within ledger" die in a task that has handed its rows to the writer, and take the Java
# process along. At the other moments it outlives its load by a moment.
KILLED = """
import os, signal, sys
import synctrail.cli

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

def dying(rows):
    processes = rows.sparkSession.sparkContext._gateway.proc.pid, os.getpid()
    def write_and_die(batches):
        yield from batches
        for process in processes:
            os.kill(process, signal.SIGKILL)
    return rows.mapInArrow(write_and_die, rows.schema)

moment = sys.argv.pop(1)
if moment == "before commit":
    from synctrail.warehouses.duckdb import DuckDbWarehouse as D
    from synctrail.warehouses.spark import SparkWarehouse as S
    D.commit = S.commit = die
elif moment == "within commit":
    from synctrail.warehouses.base import Commit
    Commit.finished_history = die
elif moment == "within ledger":
    from synctrail.warehouses.spark import SparkWarehouse
    append = SparkWarehouse._append
    def append_or_die(self, name, load_id, rows, *others):
        append(self, name, load_id, dying(rows) if "ledger" in name else rows, *others)
    SparkWarehouse._append = append_or_die
elif moment == "before partition":
    from pyspark.sql import SparkSession
    sql = SparkSession.sql
    def sql_or_die(self, query, *arguments, **options):
        if "ledger" in query and "add if not exists partition" in query:
            die()
        return sql(self, query, *arguments, **options)
    SparkSession.sql = sql_or_die
elif moment == "while staging":
    rows_of = synctrail.load.rows_of
    synctrail.load.rows_of = lambda *arguments: dying(rows_of(*arguments))
synctrail.cli.main()
"""


def killed_load(project: Path, lake: Lake, moment: str, *options: str, before: str = "") -> None:
    """Run a load that is killed at a moment; ``before`` is executed first."""
    process = run_script(project, before + KILLED, moment, "load", str(lake.root), *SMALL, *options)
    assert process.returncode == -signal.SIGKILL, process.stderr


def busy_lake(lake: Lake) -> None:
    for number in range(30):
        identifiers = [f"user-{number}-{row}" for row in range(2000)]
        lake.records(f"1/22/{number // 3}", f"a.{number}.parquet", record_columns(identifiers))
    lake.metadata("1/22/0", {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    lake.write("sync_tracking_datasets/1/22/0/bad.parquet", b"PAR1")


@pytest.mark.parametrize("when", [IN_THE_COMMIT, AT_ALL_MOMENTS])
def test_killed_loads_into_duckdb(project, lake, tmp_path, spark, when):
    busy_lake(lake)
    loader = make_loader("duckdb", tmp_path, spark)
    write_profile(project, {"dev": {"type": "duckdb", "path": str(loader.warehouse._database)}})
    for moment in MOMENTS["duckdb"][when]:
        killed_load(project, lake, moment)
        assert loader.warehouse.history().num_rows == 0
    loader.load(lake)
    (tmp_path / "undisturbed").mkdir()
    undisturbed = make_loader("duckdb", tmp_path / "undisturbed", spark)
    undisturbed.load(lake)
    assert loader.tables() == undisturbed.tables()
    assert len(loader.rows("sync_tracking_records")) == 60_000
    assert not list(tmp_path.glob("*.synctrail"))


@pytest.mark.parametrize(
    "warehouse_kind", [pytest.param("parquet", marks=pytest.mark.slow), "delta", "iceberg"], indirect=True
)
@pytest.mark.parametrize("when", [IN_THE_COMMIT, AT_ALL_MOMENTS])
def test_killed_loads_into_the_spark_catalog(  # noqa: PLR0917 - fixtures
    request, warehouse_kind, table_settings, project, lake, tmp_path, when
):
    """Killed loads, then a good one, on a metastore that a dying process may still hold."""
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    lake.metadata(RUN, {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    lake.write("sync_tracking_datasets/1/22/333/bad.parquet", b"PAR1")
    write_profile(project, {"dev": catalog_target(tmp_path, table_settings)})
    for moment in MOMENTS[warehouse_kind][when]:
        killed_load(project, lake, moment)
    assert load_folders(tmp_path), "no killed load has left anything"

    found = restarted(project, lake.root, warehouse_kind, tmp_path)
    ledger = tmp_path / "warehouse" / "census_lake.db" / "synctrail_ledger"
    assert (ledger / "_delta_log").exists() == (warehouse_kind == "delta")
    assert (ledger / "metadata").exists() == (warehouse_kind == "iceberg")
    assert load_folders(tmp_path) == {found["load"]["load_id"]}
    undisturbed = make_loader("duckdb", tmp_path, request.getfixturevalue("spark"))
    undisturbed.load(lake)
    assert found["tables"] == json.loads(json.dumps(undisturbed.tables(), default=str))
    assert [row["record_identifier"] for row in found["tables"]["sync_tracking_records"]] == ["a", "b"]
    loaded = {row["kind"]: (row["files"], row["rows"]) for row in found["status"]["loaded"]}
    assert loaded == {"records": (1, 2), "run_metadata": (1, 1), "destinations": (1, 1)}
    assert [row["load_id"] for row in found["status"]["loads"]] == [found["load"]["load_id"]]
    assert sorted(entry.name for entry in project.iterdir()) == ["dbt_project.yml", "profiles.yml"]


def load_folders(folder: Path) -> set[str]:
    """Return the loads whose rows lie in the warehouse."""
    found = (folder / "warehouse" / "census_lake.db").rglob("load_id=*")
    return {entry.name.partition("=")[2] for entry in found if entry.is_dir()}


@pytest.mark.parametrize("warehouse_kind", CATALOGS, indirect=True)
def test_a_load_killed_while_it_makes_its_tables(warehouse_kind, lake, tmp_path, spark):
    """Tables without views, and a table that is in no catalog yet: what such a kill leaves."""
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    loader = make_loader(warehouse_kind, tmp_path, spark)
    schema = loader.warehouse._schema
    loader.warehouse._create()
    for view in loader.warehouse._views():
        spark.sql(f"drop view {schema}.{view}")
    tables = Path(spark.conf.get("spark.sql.warehouse.dir").removeprefix("file:")) / f"{schema}.db"
    if warehouse_kind == "delta":
        spark.sql(f"drop table {schema}.forgotten_records")
        spark.sql(f"create table delta.`{tables}/forgotten_records` (path string) using delta")
        (tables / "synctrail_records" / "_delta_log" / ".00000000000000000001.json.0.tmp").touch()
    if warehouse_kind == "iceberg":
        spark.sql(f"drop table {schema}.forgotten_records")
        leftovers = [
            "forgotten_records/metadata/00000-left.tmp",
            "load_files/metadata/00000-left.tmp",
            "synctrail_ledger/data/load_id=dead/left.tmp",
            "synctrail_ledger/metadata/00009-left.tmp",
        ]
        for leftover in leftovers:
            (tables / leftover).parent.mkdir(parents=True, exist_ok=True)
            (tables / leftover).touch()
    started_again = make_loader(warehouse_kind, tmp_path, spark, schema=schema)
    assert started_again.load(lake).is_complete
    assert [row["record_identifier"] for row in started_again.rows("sync_tracking_records")] == ["a", "b"]
    assert started_again.rows("forgotten_records") == []
    assert not list(tables.rglob("*.tmp"))


@pytest.mark.slow
@pytest.mark.parametrize("warehouse_kind", OWN_WAREHOUSES, indirect=True)
def test_loads_killed_at_random_moments(warehouse_kind, table_settings, lake, tmp_path, spark):
    """The good load after each round of kills ends in the tables of an undisturbed one, without leftovers."""
    few_files(lake)
    calm = new_project(tmp_path / "calm", warehouse_kind, table_settings)
    lifetime = seconds_of_a_load(Command(calm), lake)
    left_by_one = left_by(warehouse_kind, calm.parent)
    for number, moments in enumerate(rounds_of_moments(lifetime)):
        project = new_project(tmp_path / f"round-{number}", warehouse_kind, table_settings)
        for seconds in moments:
            kill_a_load(Command(project), lake, seconds)
            remove_half_made_metastore(project.parent)
        found = restarted(project, lake.root, warehouse_kind, project.parent / "warehouse")
        undisturbed = make_loader("duckdb", project.parent, spark)
        undisturbed.load(lake)
        assert found["tables"] == json.loads(json.dumps(undisturbed.tables(), default=str))
        assert found["status"]["loads"][0]["load_id"] == found["load"]["load_id"]
        assert left_by(warehouse_kind, project.parent) == left_by_one


@dataclass(frozen=True)
class Command:
    """How a lake is loaded by a command: in which project, with which options, and by what."""

    project: Path
    options: Sequence[str] = tuple(SMALL)
    program: Sequence[str | Path] = tuple(SYNCTRAIL)

    def started(self, lake: Lake) -> subprocess.Popen[str]:
        """Start a load in a process group of its own."""
        own = {"DBT_PROFILES_DIR": str(self.project), "PYTHONPATH": search_path(SOURCE, SERVERS)}
        return subprocess.Popen(
            [*self.program, "load", str(lake.root), *self.options],
            cwd=self.project,
            env={**os.environ, **own},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )


def load_into_a_server_after_kills(
    make: Callable[[str], Loader], released: Callable[[Loader], None], command: Command, lake: Lake
) -> Iterator[Loader]:
    """Do the same to a server's schemas, which are read from here; yield each loader after its good load.

    Args:
        make: makes a loader into a schema.
        released: lets the time pass that the lock of a killed load lasts.
        command: the command, but for the schema.
        lake: an empty lake.

    """
    few_files(lake)

    def into(schema: str) -> Command:
        return replace(command, options=[*command.options, "--schema", schema])

    lifetime = seconds_of_a_load(into("calm"), lake)
    for number, moments in enumerate(rounds_of_moments(lifetime)):
        loader = make(f"killed_{number}")
        for seconds in moments:
            kill_a_load(into(f"killed_{number}"), lake, seconds)
            released(loader)
        loader.load(lake)
        folder = lake.root.parent / f"round-{number}"
        folder.mkdir()
        undisturbed = make_loader("duckdb", folder, loader.spark)
        undisturbed.load(lake)
        assert loader.tables() == undisturbed.tables()
        yield loader


def few_files(lake: Lake) -> None:
    for number in range(6):
        identifiers = [f"user-{number}-{row}" for row in range(100)]
        lake.records(f"1/22/{number // 3}", f"a.{number}.parquet", record_columns(identifiers))
    lake.metadata("1/22/0", {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    lake.write("sync_tracking_datasets/1/22/0/bad.parquet", b"PAR1")


def seconds_of_a_load(command: Command, lake: Lake) -> float:
    begun = time.monotonic()
    with command.started(lake) as process:
        _, told = process.communicate()
    assert process.returncode == 3, told
    return time.monotonic() - begun


def rounds_of_moments(lifetime: float) -> list[list[float]]:
    """Return when to kill, in seconds of a load's life, round by round.

    Each round begins without a warehouse, and its moments come one after the other: so first loads are killed
    while they make their tables, and later ones while they replace rows.
    """
    chance = random.Random(MANY_KILLS)
    moments = [lifetime * (number + chance.random()) / MANY_KILLS for number in range(MANY_KILLS)]
    rounds = -(-MANY_KILLS // KILLS_PER_ROUND)
    return [moments[number::rounds] for number in range(rounds)]


def new_project(folder: Path, kind: str, settings: Mapping[str, str]) -> Path:
    """Make a project with a warehouse beside it, in a folder of their own."""
    project, warehouse = folder / "project", folder / "warehouse"
    project.mkdir(parents=True)
    warehouse.mkdir()
    (project / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    write_profile(project, {"dev": new_target(kind, warehouse if kind == "duckdb" else folder, settings)})
    return project


def kill_a_load(command: Command, lake: Lake, seconds: float) -> None:
    """Load all files anew, and kill the whole process group after a time."""
    for file in lake.root.rglob("*.*"):
        file.touch()
    with command.started(lake) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            return
        assert process.returncode == 3, process.stderr and process.stderr.read()
    # The machine has become faster since a load was measured.
    kill_a_load(command, lake, seconds * 0.9)


def remove_half_made_metastore(folder: Path) -> None:
    """Do what a user is told to do after a kill in the seconds in which Derby makes its metastore."""
    metastore = folder / "metastore" / "metastore_db"
    if metastore.is_dir() and not (metastore / "service.properties").exists():
        shutil.rmtree(metastore)


def left_by(kind: str, folder: Path) -> set[str]:
    """Return what is there after a load, with one sign for every number and id in a name."""
    files = (file for part in ("project", "warehouse") for file in (folder / part).rglob("*"))
    names = [str(file.relative_to(folder)) for file in files if "checkpoint" not in file.name]
    if kind == "postgres":
        work_folder = PostgresWarehouse(postgres_settings(), "census_lake")._work
        names += [file.name for file in (work_folder, *work_folder.rglob("*")) if file.exists()]
        with psycopg.connect(**postgres_settings()) as connection:
            names += [name for (name,) in connection.execute(RELATIONS)]
    return {re.sub(r"[0-9a-f-]*\d[0-9a-f-]*", "#", name) for name in names}
