"""Prints what the tests ran on each warehouse.

    python integration_tests/show_tally.py FOLDER

The folder is that of SYNCTRAIL_TEST_TALLY.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tally import read


def main(folder: Path) -> None:
    """Print a row for each warehouse."""
    table = Table(
        "warehouse",
        "models built",
        "tests passed",
        "unit tests passed",
        "models compared",
        "rows as expected",
    )
    for warehouse, tally in read(folder).items():
        sets = (tally.models_built, tally.tests_passed, tally.unit_tests_passed, tally.models_compared)
        table.add_row(warehouse, *(f"{len(names):,}" for names in sets), f"{tally.rows_equal:,}")
    Console(width=110).print(table)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
