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

SCRIPTS = Path(sys.executable).parent
SMALL_SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "1g",
    # A session that lives for seconds gains nothing from the optimising compiler and a concurrent collector.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
SMALL = [part for name, value in SMALL_SPARK.items() for part in ("--conf", f"{name}={value}")]


def write_profile(folder: Path, outputs: Mapping[str, Any]) -> None:
    """Write the project's profile; the first of the outputs is its target."""
    content = {"shop": {"target": next(iter(outputs)), "outputs": dict(outputs)}}
    (folder / "profiles.yml").write_text(yaml.safe_dump(content))


def synctrail(
    project: Path, *arguments: str, before_start: Callable[[], None] | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run a command in a project; ``before_start`` is called in the new process."""
    return subprocess.run(
        [SCRIPTS / "synctrail", *arguments],
        cwd=project,
        env={**os.environ, "DBT_PROFILES_DIR": str(project), **environment},
        preexec_fn=before_start,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def load(project: Path, lake: Path, *options: str, **environment: Any) -> subprocess.CompletedProcess[str]:
    """Load a lake."""
    return synctrail(project, "load", str(lake), *SMALL, *options, **environment)


def history(result: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the row of ``load_history`` that a load has told."""
    return dict(json.loads(result.stdout.splitlines()[-1]))
