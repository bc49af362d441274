"""The demo: a sample lake, the load, dbt's build and what was found, each step shown as the command that it is.

All steps run in this process, so that Spark starts once.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from rich.console import Console
from rich.table import Table
from synctrail.cli import main as synctrail

HERE = Path(__file__).parent
CHECKOUT = HERE.parent
console = Console(highlight=False, width=110 if not sys.stdout.isatty() else None)

FINDINGS: dict[str, str] = {
    "Syncs": """
        select audience_name, destination, n_runs, success_rate, n_current_members, n_open_failed_records
        from {{ ref('sync_health') }}
        order by n_runs desc, audience_name
    """,
    "Attempts by status": """
        select status, count(*) as attempts, count(distinct sync_run_id) as runs
        from {{ ref('sync_log') }}
        group by status
        order by attempts desc
    """,
    "The three most common errors": """
        select category, error_template, n_errors, n_open_records
        from {{ ref('error_summary') }}
        order by n_errors desc, error_template
        limit 3
    """,
}


def main() -> int:
    """Run the demo; the exit code is that of the first step that failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--warehouse", choices=["duckdb", "spark"], default="duckdb")
    parser.add_argument("--rows", type=int, default=20_000)
    warehouse, rows = parser.parse_args().warehouse, parser.parse_args().rows

    started = time.monotonic()
    folder = CHECKOUT / ".cache" / "demo"
    lake = folder / f"lake-{rows}"
    os.environ["SYNCTRAIL_DEMO_DIR"] = str(folder / warehouse)
    os.environ["SYNCTRAIL_DEMO_JARS"] = ",".join(map(str, (CHECKOUT / ".cache" / "jars").glob("*.jar")))
    (folder / warehouse).mkdir(parents=True, exist_ok=True)
    os.chdir(HERE)
    target = ["--target", warehouse]
    dbt = dbtRunner()

    if not lake.exists():
        step(["synctrail", "sample-lake", str(lake), "--rows", str(rows)], run_synctrail)
    step(["synctrail", "load", str(lake), *target], run_synctrail)
    step(["dbt", "--quiet", "deps"], lambda arguments: run_dbt(dbt, arguments))
    step(["dbt", "--quiet", "build", *target], lambda arguments: run_dbt(dbt, arguments))
    for title, query in FINDINGS.items():
        show(title, answer(dbt, query, target))
    console.print(
        f"\nDone in {time.monotonic() - started:.0f} s. The warehouse is in [bold]{shown(folder / warehouse)}[/bold];"
        "\nthe README tells what each mart answers, and analyses/ has a query for each common question."
    )
    return 0


def step(command: Sequence[str], run: Callable[[list[str]], bool]) -> None:
    """Show a command and run it; the demo ends with the first that fails."""
    console.print(f"\n[bold]$ {' '.join(shown(word) for word in command)}[/bold]")
    if not run(list(command[1:])):
        sys.exit(1)


def shown(word: str | Path) -> str:
    """Return a path as a reader in the checkout would type it."""
    return str(word).replace(f"{CHECKOUT}/", "")


def run_synctrail(arguments: list[str]) -> bool:
    """Run the loader; files in quarantine (exit code 3) are part of the sample."""
    try:
        synctrail(arguments)
    except SystemExit as end:
        return end.code in (None, 0, 3)
    return True


def run_dbt(dbt: dbtRunner, arguments: list[str]) -> bool:
    """Run dbt in this process."""
    return dbt.invoke(arguments).success


def answer(dbt: dbtRunner, query: str, target: list[str]) -> Any:
    """Return the rows that a query on the models gives, as dbt's own table."""
    outcome = dbt.invoke(["--quiet", "--log-level", "none", "show", "--inline", query, "--limit", "20", *target])
    if not outcome.success:
        sys.exit(f"The query failed: {outcome.exception or outcome.result}")
    return outcome.result.results[0].agate_table


def show(title: str, rows: Any) -> None:
    """Print the rows as a table."""
    table = Table(title=title, title_justify="left", title_style="bold")
    for name in rows.column_names:
        table.add_column(name, overflow="fold")
    for row in rows.rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    console.print()
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
