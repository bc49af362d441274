"""Lints the dbt package as dbt and sqlfluff read it: no deprecation warning, no badly formed SQL."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
WORK = CHECKOUT / ".cache" / "lint"
BIN = Path(sys.executable).parent
# Every source, so that the models of each are read.
VARIABLES = {
    "synctrail_sources": ["census_lake", "census_writeback", "hightouch", "rudderstack"],
    "synctrail_hightouch_audiences": True,
}


def main() -> int:
    """Run each linter; the exit code is 1 if any complains."""
    WORK.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SYNCTRAIL_TEST_DIR": str(WORK)}
    sqlfluff = [str(BIN / "sqlfluff"), "lint", "--disable-progress-bar", "models", "tests"]
    commands = (parse_command(WORK), sqlfluff)
    codes = [subprocess.call(command, cwd=CHECKOUT, env=environment) for command in commands]
    return int(any(codes))


def parse_command(work: Path, target: str | None = None) -> list[str]:
    """Return the command that has dbt parse the package with its deprecations as errors."""
    return [
        str(BIN / "dbt"), "--quiet", "--log-path", str(work / "logs"),
        "--warn-error-options", '{"error": ["Deprecations"]}',
        "parse", "--no-partial-parse", "--show-all-deprecations", "--vars", json.dumps(VARIABLES),
        "--profiles-dir", "integration_tests", "--profile", "synctrail_integration_tests",
        *(["--target", target] if target else []),
        "--target-path", str(work / "target"),
    ]  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
