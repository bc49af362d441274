"""Prints what the tests ran on each warehouse.

    python integration_tests/show_tally.py FOLDER [--readme]

The folder is that of SYNCTRAIL_TEST_TALLY. With --readme the README's table is brought up to date as well; a
warehouse that the folder knows nothing of keeps its row.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tally import Tally, read

README = Path(__file__).parents[1] / "README.md"
HEADERS = (
    "warehouse",
    "models built",
    "tests passed",
    "unit tests passed",
    "models compared",
    "rows as expected",
)
_TABLE = re.compile(re.escape(f"| {' | '.join(HEADERS)} |\n") + r"\|[-|]+\|\n(?P<rows>(?:\|.*\n)*)")


def row(warehouse: str, tally: Tally) -> tuple[str, ...]:
    """Return the cells of a warehouse's row, in the order of the headers."""
    sets = (tally.models_built, tally.tests_passed, tally.unit_tests_passed, tally.models_compared)
    return warehouse, *(f"{len(names):,}" for names in sets), f"{tally.rows_equal:,}"


def with_rows(text: str, rows: list[tuple[str, ...]]) -> str:
    """Return the README's text with these rows in its table, in place of those of the same warehouses."""
    found = _TABLE.search(text)
    assert found, "README.md has no table with these headers"
    lines = {line.split("|")[1].strip(): line for line in found["rows"].splitlines()}
    lines.update({cells[0]: f"| {' | '.join(cells)} |" for cells in rows})
    ordered = "".join(f"{lines[name]}\n" for name in sorted(lines))
    return text[: found.start("rows")] + ordered + text[found.end() :]


def main() -> None:
    """Print a row for each warehouse, and write them if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    rows = [row(warehouse, tally) for warehouse, tally in read(options.folder).items()]
    table = Table(*HEADERS)
    for cells in rows:
        table.add_row(*cells)
    Console(width=120).print(table)
    if options.readme:
        README.write_text(with_rows(README.read_text(), rows))


if __name__ == "__main__":
    main()
