"""The command ``synctrail sample-lake``."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from synctrail.errors import UsageError
from synctrail.sample_lake import SampleLake, write_sample_lake

_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")


def sample_lake(  # noqa: PLR0917 - typer reads the options off it
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that is empty or does not exist yet.")
    ],
    rows: Annotated[int, typer.Option(help="Rows of all record files together.")] = 20_000,
    seed: Annotated[int, typer.Option(help="The same seed writes the same lake, byte for byte.")] = 0,
    runs: Annotated[
        int | None,
        typer.Option(help="Sync runs, of all syncs together.", show_default="by the rows, at most 400"),
    ] = None,
    rows_per_file: Annotated[
        int | None,
        typer.Option(
            help="At most so many rows in one record file.", show_default="by the rows, at most 50,000"
        ),
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace what this command has written to DIR before.")
    ] = False,
) -> None:
    """Write a sample lake, as Census would: ten syncs of three organizations, up to the end of 2025."""
    if _URI.match(str(directory)):
        raise typer.BadParameter(
            f"{directory} is no local folder: write the lake to one and copy it from there"
        )
    columns = (TextColumn("Writing rows"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    errors = Console(stderr=True)
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as progress:
        bar = progress.add_task("rows", total=rows)
        try:
            lake = write_sample_lake(
                directory,
                rows=rows,
                seed=seed,
                runs=runs,
                rows_per_file=rows_per_file,
                overwrite=overwrite,
                progress=lambda written: progress.advance(bar, written),
            )
        except UsageError as error:
            raise typer.BadParameter(str(error)) from error
        except OSError as error:
            errors.print(
                f"synctrail: cannot write {directory}: {error.strerror}", style="red", soft_wrap=True
            )
            raise typer.Exit(1) from error
    _tell(lake)


def _tell(lake: SampleLake) -> None:
    console = Console()
    table = Table("sync", "source", "destination", "runs", "rows", "last run", box=None, pad_edge=False)
    for sync in lake.syncs:
        table.add_row(
            str(sync.sync_id),
            sync.source,
            sync.destination,
            f"{sync.runs:,}",
            f"{sync.rows:,}",
            f"{sync.last_run_at:%Y-%m-%d}",
        )
    console.print(table)
    console.print(
        f"\nWrote {lake.rows:,} rows of {lake.runs:,} runs in {lake.record_files:,} record files"
        f" to {lake.root}.\nLoad it with: synctrail load {shlex.quote(str(lake.root))}",
        soft_wrap=True,
        highlight=False,
        markup=False,
    )
