"""Loads by spark-submit on a standalone cluster of Spark's own: a master and two workers on this machine."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import JOB, SCRIPTS, history, restarted, write_profile
from conftest import make_loader, new_target
from warehouses.little_data import as_options

import synctrail
from synctrail.java import find_java_home
from synctrail.sample_lake import write_sample_lake

WORKERS = 2
START_SECONDS = 120
HERE = "127.0.0.1"


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start a cluster; give the URL of its master."""
    folder = tmp_path_factory.mktemp("cluster")
    with contextlib.ExitStack() as cluster:
        url = cluster.enter_context(daemon(folder / "master", "master.Master", r"master at (spark://\S+)"))
        for number in range(WORKERS):
            options = ("--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work {number}"), url)
            log, ready = folder / f"worker {number}", r"registered with master (\S+)"
            cluster.enter_context(daemon(log, "worker.Worker", ready, *options))
        yield url


@contextlib.contextmanager
def daemon(log: Path, name: str, ready: str, *options: str) -> Iterator[str]:
    """Run one of the cluster's processes on a free port; give what it says when it is ready.

    It knows this package neither by its environment nor by its working directory: as on another machine.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    addresses = ("--host", HERE, "--port", "0", "--webui-port", "0")
    with (
        log.open("wb") as messages,
        subprocess.Popen(
            [SCRIPTS / "spark-class", f"org.apache.spark.deploy.{name}", *addresses, *options],
            cwd=log.parent,
            env={**environment, "JAVA_HOME": str(find_java_home()), "SPARK_DAEMON_MEMORY": "256m"},
            stdout=messages,
            stderr=messages,
        ) as process,
    ):
        try:
            deadline = time.monotonic() + START_SECONDS
            while not (said := re.search(ready, log.read_text())):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield said[1]
        finally:
            process.terminate()


def submit(master: str, folder: Path, lake: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Load a lake by spark-submit; the package goes to the executors with ``--py-files``."""
    package = Path(synctrail.__file__).parent
    archive = shutil.make_archive(str(folder / "synctrail"), "zip", package.parent, package.name)
    (folder / "events").mkdir()
    settings = {
        "spark.cores.max": str(WORKERS),
        "spark.driver.bindAddress": HERE,
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder / 'metastore'}",
        "spark.driver.host": HERE,
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file:{folder / 'events'}",
        "spark.eventLog.enabled": "true",
        "spark.executor.memory": "512m",
        "spark.pyspark.python": sys.executable,
        # Begin when both workers have an executor: else one may have done all the work by then.
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{START_SECONDS}s",
    }
    spark_options = ["--master", master, "--py-files", archive, *as_options(settings), *options]
    return subprocess.run(
        [SCRIPTS / "spark-submit", *spark_options, JOB, "load", str(lake)],
        cwd=folder / "project",
        env={**os.environ, "DBT_PROFILES_DIR": str(folder / "project"), "JAVA_HOME": str(find_java_home())},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def workers_of(events: Path) -> set[str]:
    """Return the executors that have ended a task, by Spark's log of events."""
    lines = (line for file in events.rglob("events_*") for line in file.read_text().splitlines())
    found = (json.loads(line) for line in lines if '"SparkListenerTaskEnd"' in line)
    return {event["Task Info"]["Executor ID"] for event in found if "Task Info" in event}


@pytest.mark.slow
def test_a_load_on_a_cluster_is_that_of_one_machine(  # noqa: PLR0917 - fixtures
    master, warehouse_kind, table_settings, project, tmp_path, spark
):
    lake = tmp_path / "lake"
    write_sample_lake(lake, rows=3000, seed=1)
    (lake / "sync_tracking_datasets" / "1" / "22" / "333").mkdir(parents=True)
    (lake / "sync_tracking_datasets" / "1" / "22" / "333" / "bad.parquet").write_bytes(b"PAR1")
    write_profile(project, {"dev": new_target(warehouse_kind, tmp_path, table_settings)})
    jars = ("--jars", table_settings["spark.jars"]) if table_settings else ()
    result = submit(master, tmp_path, lake, *jars)
    assert result.returncode == 3, result.stderr[-5000:]
    assert workers_of(tmp_path / "events") == {str(number) for number in range(WORKERS)}

    found = restarted(project, lake, warehouse_kind, tmp_path)
    assert found["load"]["files_loaded"] == 0
    (tmp_path / "local").mkdir()
    local = make_loader("duckdb", tmp_path / "local", spark)
    assert history(result)["rows_loaded"] == local.load(str(lake)).history["rows_loaded"] > 0
    assert found["tables"] == json.loads(json.dumps(local.tables(), default=str))
