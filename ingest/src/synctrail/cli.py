"""The command line: ``synctrail load``, ``synctrail status``, ``synctrail sample-lake``."""

from __future__ import annotations

import datetime as dt
import json
import sys
import traceback
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.text import Text

from synctrail import __version__
from synctrail.columns import first_line
from synctrail.dbt_target import read_target
from synctrail.errors import SynctrailError, UsageError
from synctrail.lake import checked_root
from synctrail.load import LoadResult
from synctrail.load import load as run_load
from synctrail.progress import Reporter
from synctrail.sample_lake.command import sample_lake
from synctrail.selection import Selection
from synctrail.spark_errors import SPARK_ERRORS, translate
from synctrail.spark_session import spark_session
from synctrail.status import plain, read_status, show
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.choose import open_warehouse

EXIT_QUARANTINED = 3
EXIT_INTERRUPTED = 130
_SHOWN_QUARANTINED = 10

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Brings sync logs of reverse-ETL tools into your warehouse, for good.",
)
_errors = Console(stderr=True, highlight=False)

ProjectDir = Annotated[
    Path, typer.Option(envvar="DBT_PROJECT_DIR", help="Folder of dbt_project.yml.", show_default="here")
]
ProfilesDir = Annotated[
    Path | None,
    typer.Option(help="Folder of profiles.yml; else DBT_PROFILES_DIR, the project, here, ~/.dbt."),
]
ProfileName = Annotated[
    str | None, typer.Option(envvar="DBT_PROFILE", help="Profile to use; else the project's.")
]
TargetName = Annotated[str | None, typer.Option(envvar="DBT_TARGET", help="Target; else the profile's own.")]
SchemaName = Annotated[
    str | None,
    typer.Option(
        "--schema", help="Schema of the staging tables; else the variable synctrail_census_lake_schema."
    ),
]
SparkSettings = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
]
Orgs = Annotated[
    list[str] | None,
    typer.Option("--org", metavar="ID", help="Only this organization; may be repeated."),
]
Syncs = Annotated[
    list[str] | None, typer.Option("--sync", metavar="ID", help="Only this sync; may be repeated.")
]
Since = Annotated[
    dt.datetime | None,
    typer.Option(
        formats=["%Y-%m-%d"],
        metavar="DATE",
        help="Only runs that wrote a file on this date (UTC) or later; fact tables always.",
    ),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and Spark's own messages.")]


@app.command()
def load(  # noqa: PLR0917 - typer reads the options off it
    lake: Annotated[
        str, typer.Argument(help="Root of the lake: a path, or a URI such as s3a://bucket/prefix.")
    ],
    project_dir: ProjectDir = Path(),
    profiles_dir: ProfilesDir = None,
    profile: ProfileName = None,
    target: TargetName = None,
    schema: SchemaName = None,
    org: Orgs = None,
    sync: Syncs = None,
    since: Since = None,
    conf: SparkSettings = None,
    wait: Annotated[float, typer.Option(help="Seconds to wait for another load to end.", min=0)] = 0,
    debug: Debug = False,
) -> None:
    """Load what is new in a Census Sync Tracking lake.

    The destination is the warehouse of the dbt target. The last line on standard output is the load's row of
    load_history, as JSON. Exit codes: 0 all files of the lake are loaded; 3 loaded, but at least one file is
    quarantined; 2 wrong usage; 1 failed, and nothing of the load was kept.
    """
    warehouse = _warehouse(project_dir, profiles_dir, profile, target, schema)
    # Spark takes seconds to start: a wrong path, or a right that is missing, is told before.
    warehouse.check()
    checked_root(lake)
    spark = _session(warehouse, conf, debug=debug)
    reporter = Reporter(_errors)
    try:
        result = run_load(
            spark, warehouse, lake, reporter, selection=_selection(org, sync, since), wait_seconds=wait
        )
    except SPARK_ERRORS as error:
        raise translate(error, lake) from error
    _tell(reporter, result)
    sys.stdout.write(json.dumps(plain(result.history)) + "\n")
    raise typer.Exit(0 if result.is_complete else EXIT_QUARANTINED)


@app.command()
def status(  # noqa: PLR0917 - typer reads the options off it
    project_dir: ProjectDir = Path(),
    profiles_dir: ProfilesDir = None,
    profile: ProfileName = None,
    target: TargetName = None,
    schema: SchemaName = None,
    conf: SparkSettings = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
    debug: Debug = False,
) -> None:
    """Show what is loaded, the last loads, and which files are quarantined and why."""
    warehouse = _warehouse(project_dir, profiles_dir, profile, target, schema)
    if warehouse.needs_spark:
        _session(warehouse, conf, debug=debug)
    try:
        found = read_status(warehouse)
    except SPARK_ERRORS as error:
        raise translate(error, warehouse.name) from error
    if as_json:
        sys.stdout.write(json.dumps(found.to_dict()) + "\n")
    else:
        Console(highlight=False).print(show(found))


@app.command()
def version() -> None:
    """Show the version."""
    sys.stdout.write(f"{__version__}\n")


app.command("sample-lake")(sample_lake)


def main() -> None:
    """Run the command line; an error is one line, and its traceback too with ``--debug``."""
    try:
        app()
    except SynctrailError as error:
        _fail(str(error), error.exit_code)
    except KeyboardInterrupt:
        _fail("interrupted; nothing of this load was kept", EXIT_INTERRUPTED)
    except PermissionError as error:
        denied = error.filename or error
        _fail(f"no permission for {denied}; give it to the user who runs this (--debug shows more)", 1)
    except Exception as error:  # noqa: BLE001 - the last resort: whatever it is, a user gets one line
        _fail(f"{type(error).__name__}: {first_line(error)} (--debug shows more)", 1)


def _fail(message: str, code: int) -> None:
    if "--debug" in sys.argv:
        traceback.print_exc()
    _errors.print(Text(f"synctrail: {message}", style="red"), soft_wrap=True)
    sys.exit(code)


def _warehouse(
    project_dir: Path,
    profiles_dir: Path | None,
    profile: str | None,
    target: str | None,
    schema: str | None,
) -> Warehouse:
    chosen = read_target(
        project_dir=project_dir, profiles_dir=profiles_dir, profile=profile, target=target, schema=schema
    )
    return open_warehouse(chosen)


def _selection(orgs: list[str] | None, syncs: list[str] | None, since: dt.datetime | None) -> Selection:
    moment = since.replace(tzinfo=dt.UTC) if since else None
    return Selection(frozenset(orgs or ()), frozenset(syncs or ()), moment)


def _session(warehouse: Warehouse, conf: list[str] | None, *, debug: bool) -> SparkSession:
    settings = warehouse.spark_config()
    for setting in conf or []:
        name, separator, value = setting.partition("=")
        if not separator:
            raise UsageError(f"--conf {setting} has no value; write NAME=VALUE")
        settings[name] = value
    return spark_session(settings, hive=warehouse.needs_hive, quiet=not debug)


def _tell(reporter: Reporter, result: LoadResult) -> None:
    for outcome in result.quarantined[:_SHOWN_QUARANTINED]:
        reporter.say(f"quarantined {outcome.path}: {outcome.reason}, {outcome.detail}")
    if (more := len(result.quarantined) - _SHOWN_QUARANTINED) > 0:
        reporter.say(f"and {more:,} more files are quarantined; synctrail status shows all")
    history = result.history
    if not history["files_loaded"] and not history["files_quarantined"]:
        reporter.say(f"nothing new in {history['files_seen']:,} files")
    else:
        reporter.say(f"loaded {history['rows_loaded']:,} rows from {history['files_loaded']:,} files")


if __name__ == "__main__":
    main()
