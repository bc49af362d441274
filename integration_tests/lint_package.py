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
VARIABLES = {"synctrail_sources": ["census_lake", "census_writeback", "hightouch", "rudderstack"]}


def main() -> int:
    """Run each linter; the exit code is 1 if any complains."""
    WORK.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "SYNCTRAIL_TEST_DIR": str(WORK)}
    parse = [
        str(BIN / "dbt"), "--quiet", "--log-path", str(WORK / "logs"),
        "--warn-error-options", '{"error": ["Deprecations"]}',
        "parse", "--no-partial-parse", "--show-all-deprecations", "--vars", json.dumps(VARIABLES),
        "--profiles-dir", "integration_tests", "--profile", "synctrail_integration_tests",
        "--target-path", str(WORK / "target"),
    ]  # fmt: skip
    sqlfluff = [str(BIN / "sqlfluff"), "lint", "--disable-progress-bar", "models", "tests"]
    codes = [subprocess.call(command, cwd=CHECKOUT, env=environment) for command in (parse, sqlfluff)]
    return int(any(codes))


if __name__ == "__main__":
    sys.exit(main())
