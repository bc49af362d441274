"""Loads that are killed at the worst moments, and the load after them (rule L2 of the contract)."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from commands import SCRIPTS, SMALL, load, write_profile
from conftest import make_loader
from lakes import Lake, record_columns

RUN = "1/22/333"
MANY_KILLS = int(os.environ.get("SYNCTRAIL_TEST_KILLS", "50"))
# A Delta table has its partitions by itself; to one of plain Parquet they are told.
MOMENTS = {
    "parquet": ("before commit", "before partition"),
    "delta": ("while staging", "before commit", "within ledger"),
}

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

# One session for all of it: the load after the killed ones, its status and its tables.
RESTARTED = """
import contextlib, io, json, sys
from pathlib import Path
from pyspark.sql import SparkSession
import synctrail.cli
from conftest import make_loader

kind, lake, *settings = sys.argv[1:]

def synctrail_says(*arguments):
    sys.argv = ["synctrail", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.suppress(SystemExit):
        synctrail.cli.main()
    return json.loads(told.getvalue().splitlines()[-1])

found = {
    "load": synctrail_says("load", lake, *settings),
    "status": synctrail_says("status", "--json"),
    "tables": make_loader(kind, Path(), SparkSession.getActiveSession(), schema="census_lake").tables(),
}
print(json.dumps(found, default=str))
"""


def run_script(project: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=project,
        env={**os.environ, "DBT_PROFILES_DIR": str(project), "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def killed_load(project: Path, lake: Lake, moment: str) -> None:
    """Run a load that is killed at a moment."""
    process = run_script(project, KILLED, moment, "load", str(lake.root), *SMALL)
    assert process.returncode == -signal.SIGKILL, process.stderr


def busy_lake(lake: Lake) -> None:
    for number in range(30):
        identifiers = [f"user-{number}-{row}" for row in range(2000)]
        lake.records(f"1/22/{number // 3}", f"a.{number}.parquet", record_columns(identifiers))
    lake.metadata("1/22/0", {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    lake.write("sync_tracking_datasets/1/22/0/bad.parquet", b"PAR1")


def test_killed_loads_into_duckdb(project, lake, tmp_path, spark):
    busy_lake(lake)
    loader = make_loader("duckdb", tmp_path, spark)
    write_profile(project, {"dev": {"type": "duckdb", "path": str(loader.warehouse._database)}})
    for moment in ("while staging", "before commit", "within commit"):
        killed_load(project, lake, moment)
        assert loader.warehouse.history().num_rows == 0
    loader.load(lake)
    (tmp_path / "undisturbed").mkdir()
    undisturbed = make_loader("duckdb", tmp_path / "undisturbed", spark)
    undisturbed.load(lake)
    assert loader.tables() == undisturbed.tables()
    assert len(loader.rows("sync_tracking_records")) == 60_000
    assert not list(tmp_path.glob("*.synctrail"))


@pytest.mark.parametrize("kind", MOMENTS)
def test_killed_loads_into_the_spark_catalog(request, project, lake, tmp_path, kind):
    """Killed loads, then a good one, on a metastore that a dying process may still hold."""
    delta_settings = request.getfixturevalue("delta_settings") if kind == "delta" else {}
    if kind == "delta" and not delta_settings:
        pytest.skip("Delta's jars cannot be had")
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    lake.metadata(RUN, {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    lake.write("sync_tracking_datasets/1/22/333/bad.parquet", b"PAR1")
    catalog = {
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path / 'metastore'}",
        "spark.sql.shuffle.partitions": "1",
        **delta_settings,
    }
    target = {"type": "spark", "method": "session", "schema": "x", "server_side_parameters": catalog}
    write_profile(project, {"dev": target})
    for moment in MOMENTS[kind]:
        killed_load(project, lake, moment)
    assert load_folders(tmp_path), "no killed load has left anything"

    restarted = run_script(project, RESTARTED, kind, str(lake.root), *SMALL)
    assert restarted.returncode == 0, restarted.stderr
    found: dict[str, Any] = json.loads(restarted.stdout)
    is_delta = (tmp_path / "warehouse" / "census_lake.db" / "synctrail_ledger" / "_delta_log").exists()
    assert is_delta == (kind == "delta")
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


def killed_at_random(project: Path, lake: Lake, seconds: float) -> bool:
    """Load all files anew, kill the whole process group after a time; tell whether it was still running."""
    for file in lake.root.rglob("*.*"):
        file.touch()
    with subprocess.Popen(
        [SCRIPTS / "synctrail", "load", str(lake.root), *SMALL],
        cwd=project,
        env={**os.environ, "DBT_PROFILES_DIR": str(project)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return process.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_loads_killed_at_random_moments(project, lake, tmp_path, spark):
    """The next good load ends in the tables of an undisturbed one, without leftovers."""
    for number in range(6):
        identifiers = [f"user-{number}-{row}" for row in range(100)]
        lake.records(f"1/22/{number // 3}", f"a.{number}.parquet", record_columns(identifiers))
    lake.write("sync_tracking_datasets/1/22/0/bad.parquet", b"PAR1")
    disturbed = make_loader("duckdb", tmp_path, spark)
    write_profile(project, {"dev": {"type": "duckdb", "path": str(disturbed.warehouse._database)}})
    begun = time.monotonic()
    assert load(project, lake.root).returncode == 3
    longest = time.monotonic() - begun
    chance = random.Random(MANY_KILLS)
    killed = sum(killed_at_random(project, lake, chance.uniform(0, longest)) for _ in range(MANY_KILLS))
    assert killed, "no load was killed"
    assert load(project, lake.root).returncode == 3
    (tmp_path / "undisturbed").mkdir()
    undisturbed = make_loader("duckdb", tmp_path / "undisturbed", spark)
    undisturbed.load(lake)
    assert disturbed.tables() == undisturbed.tables()
    assert not list(tmp_path.glob("*.synctrail"))
