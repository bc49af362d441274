"""The command line, run as users run it: in a process of its own, in a dbt project."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml
from warehouses.little_data import LITTLE_DATA, as_options

TESTS = Path(__file__).parent
SOURCE = TESTS.parent / "src"
SERVERS = TESTS.parents[1] / "integration_tests"
SCRIPTS = Path(sys.executable).parent
# The environment of the stand-ins has the package on its path alone, and no script.
SYNCTRAIL = (
    [SCRIPTS / "synctrail"] if (SCRIPTS / "synctrail").exists() else [sys.executable, "-m", "synctrail"]
)
JOB = Path(__file__).parents[1] / "synctrail_job.py"
SMALL_SPARK = {**LITTLE_DATA, "spark.driver.memory": "1g"}
SMALL = as_options(SMALL_SPARK)

# One session for all of it: a load after killed or failed ones, its status and its tables.
RESTARTED = """
import contextlib, io, json, sys
from pathlib import Path
from pyspark.sql import SparkSession
import synctrail.cli
from conftest import make_loader

kind, folder, lake, *settings = sys.argv[1:]

def synctrail_says(*arguments):
    sys.argv = ["synctrail", *arguments]
    with contextlib.redirect_stdout(io.StringIO()) as told, contextlib.suppress(SystemExit):
        synctrail.cli.main()
    return json.loads(told.getvalue().splitlines()[-1])

found = {
    "load": synctrail_says("load", lake, *settings),
    "status": synctrail_says("status", "--json"),
    "tables": make_loader(kind, Path(folder), SparkSession.getActiveSession(), schema="census_lake").tables(),
}
print(json.dumps(found, default=str))
"""


def search_path(*folders: Path) -> str:
    """Return PYTHONPATH with folders before what it has, which may be relative to where the tests run."""
    return os.pathsep.join(filter(None, (*map(str, folders), os.environ.get("PYTHONPATH"))))


def write_profile(folder: Path, outputs: Mapping[str, Any]) -> None:
    """Write the project's profile; the first of the outputs is its target."""
    content = {"shop": {"target": next(iter(outputs)), "outputs": dict(outputs)}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(content))


def synctrail(
    project: Path,
    *arguments: str,
    before_start: Callable[[], None] | None = None,
    timeout: float = 300,
    **environment: str,
) -> subprocess.CompletedProcess[str]:
    """Run a command in a project, for so many seconds; ``before_start`` is called in the new process."""
    return subprocess.run(
        [*SYNCTRAIL, *arguments],
        cwd=project,
        env={
            **os.environ,
            "DBT_PROFILES_DIR": str(project),
            "PYTHONPATH": search_path(SOURCE),
            **environment,
        },
        preexec_fn=before_start,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def load(project: Path, lake: Path, *options: str, **environment: Any) -> subprocess.CompletedProcess[str]:
    """Load a lake."""
    return synctrail(project, "load", str(lake), *SMALL, *options, **environment)


def history(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the row of ``load_history`` that a load has told."""
    return dict(json.loads(result.stdout.splitlines()[-1]))


def catalog_target(folder: Path, settings: Mapping[str, str]) -> dict[str, Any]:
    """Return a target in a Spark catalog of its own, with all of it below a folder."""
    catalog = {
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder / 'metastore'}",
        "spark.sql.shuffle.partitions": "1",
        **settings,
    }
    return {"type": "spark", "method": "session", "schema": "x", "server_side_parameters": catalog}


def restarted(project: Path, lake: Path, kind: str, folder: Path) -> dict[str, Any]:
    """Load again; return what load, status and tables say. ``folder`` is that of the DuckDB file."""
    result = run_script(project, RESTARTED, kind, str(folder), str(lake), *SMALL)
    assert result.returncode == 0, result.stderr
    return dict(json.loads(result.stdout))


def run_script(project: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a program in a project that may import the tests' own modules, and those of their servers."""
    modules = search_path(TESTS, SOURCE, SERVERS)
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        cwd=project,
        env={**os.environ, "DBT_PROFILES_DIR": str(project), "PYTHONPATH": modules},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
