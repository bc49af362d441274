"""The demo: a sample lake, the load, dbt's build and what was found.

Each step is shown as the command that it is; all run in this process, so that Spark starts once.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dbt.cli.main import dbtRunner
from rich.console import Console
from rich.table import Table

from synctrail.cli import main as synctrail
from synctrail.jars import delta_jars

# The sample lake ends with the year 2025; by a later clock, every sync would look stale.
AS_OF = {"synctrail_as_of": "2026-01-01 00:00:00"}
HERE = Path(__file__).parent
CHECKOUT = HERE.parent
console = Console(highlight=False, width=110 if not sys.stdout.isatty() else None)


class Finding(NamedTuple):
    """A question to the models, and how many rows of the answer to show."""

    title: str
    query: str
    rows: int


FINDINGS = (
    Finding(
        "The syncs (sync_health)",
        """
        select
            audience_name as audience,
            destination,
            n_runs as runs,
            cast(round(100 * success_rate, 1) as decimal(5, 1)) as succeeded_pct,
            n_current_members as members,
            n_open_failed_records as failing_now,
            is_stale
        from {{ ref('sync_health') }}
        order by runs desc, audience
        """,
        20,
    ),
    Finding(
        "Attempts by status (sync_log)",
        """
        select status, count(*) as attempts, count(distinct sync_run_id) as runs
        from {{ ref('sync_log') }}
        group by status
        order by attempts desc
        """,
        10,
    ),
    Finding(
        "The most common errors (error_summary)",
        """
        select category, error_template, n_errors as errors, n_open_records as open_records
        from {{ ref('error_summary') }}
        order by errors desc, error_template
        """,
        3,
    ),
    Finding(
        "Errors by category (error_daily)",
        """
        select category, sum(n_errors) as errors, max(date) as last_seen
        from {{ ref('error_daily') }}
        group by category
        order by errors desc, category
        """,
        8,
    ),
    Finding(
        "An audience's size over time (audience_daily)",
        """
        select audience_name as audience, date, n_entered as entered, n_exited as exited, n_members as members
        from (
            select audience_daily.*, count(*) over (partition by sync_id) as n_days
            from {{ ref('audience_daily') }} as audience_daily
            where sync_id in (select sync_id from {{ ref('sync_health') }} where n_current_members > 200)
        ) as days
        order by n_days desc, audience_name, date desc
        """,
        7,
    ),
    Finding(
        "The noisiest fields (field_change_summary)",
        """
        select
            sync_id,
            field_name as field,
            n_changes as changes,
            n_sole_changes as sole_changes,
            noise_hint
        from {{ ref('field_change_summary') }}
        order by sole_changes desc, changes desc, field
        """,
        3,
    ),
    Finding(
        "A record that keeps failing (failed_records)",
        """
        select
            sync_id,
            record_identifier as record,
            category,
            n_failed_attempts as failures,
            first_failed_at,
            status_message
        from {{ ref('failed_records') }}
        order by failures desc, sync_id, record
        """,
        1,
    ),
)


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
    (folder / warehouse).mkdir(parents=True, exist_ok=True)
    os.chdir(HERE)
    jars = delta_jars(CHECKOUT / ".cache" / "jars") if warehouse == "spark" else []
    os.environ["SYNCTRAIL_DEMO_JARS"] = ",".join(map(str, jars))
    has_delta = warehouse != "spark" or bool(jars)
    target = ["--target", warehouse if has_delta else "spark_parquet"]
    variables = json.dumps(AS_OF if has_delta else AS_OF | {"synctrail_spark_file_format": "parquet"})
    dbt = dbtRunner()

    if not lake.exists():
        step(["synctrail", "sample-lake", str(lake), "--rows", str(rows)], run_synctrail)
    step(["synctrail", "load", str(lake), *target], run_synctrail)
    step(["dbt", "--quiet", "deps"], lambda arguments: run_dbt(dbt, arguments))
    # dbt's unit tests are for those who develop the package.
    build = ["build", "--exclude-resource-type", "unit_test", *target, "--vars", variables]
    step(["dbt", "--quiet", *build], lambda arguments: run_dbt(dbt, arguments))
    for finding in FINDINGS:
        show(finding.title, answer(dbt, finding, [*target, "--vars", variables]))
    console.print(
        f"\nDone in {time.monotonic() - started:.0f} s. The warehouse is in {shown(folder / warehouse)}.\n"
        "The README tells what each mart answers; analyses/ has a query for each common question."
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
    """Run the loader in this process."""
    sys.argv = ["synctrail", *arguments]
    try:
        synctrail()
    except SystemExit as end:
        return end.code in (None, 0)
    return True


def run_dbt(dbt: dbtRunner, arguments: list[str]) -> bool:
    """Run dbt in this process."""
    return dbt.invoke(arguments).success


def answer(dbt: dbtRunner, finding: Finding, target: list[str]) -> Any:
    """Return the rows that a query on the models gives, as dbt's own table."""
    asked = ["show", "--inline", finding.query, "--limit", str(finding.rows)]
    outcome = dbt.invoke(["--quiet", "--log-level", "none", *asked, *target])
    if not outcome.success:
        sys.exit(f"The query failed: {outcome.exception or outcome.result}")
    answered: Any = outcome.result
    return answered.results[0].agate_table


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
