"""The command line: ``synctrail load``, ``retry``, ``status``, ``prune``, ``forget`` and ``sample-lake``."""

from __future__ import annotations

import datetime as dt
import json
import sys
import traceback
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from synctrail import __version__
from synctrail.columns import first_line
from synctrail.errors import SynctrailError, UsageError
from synctrail.forget import forget as run_forget
from synctrail.lag import lag_by_sync
from synctrail.lake import checked_root, list_lake
from synctrail.load import LoadResult
from synctrail.load import load as run_load
from synctrail.options import (
    Debug,
    Lake,
    LogFormat,
    Logs,
    Orgs,
    Payload,
    PrivacyFile,
    ProfileName,
    ProfilesDir,
    ProjectDir,
    Redact,
    SchemaName,
    Since,
    SparkSettings,
    Stage,
    StageRole,
    StageUrl,
    Syncs,
    TargetName,
    Wait,
    chosen_warehouse,
    selection_of,
    session,
    session_to_write,
    utc,
)
from synctrail.plan import make_plan, retry_plan
from synctrail.privacy import read_privacy
from synctrail.progress import Reporter
from synctrail.prune import prune as run_prune
from synctrail.sample_lake.command import sample_lake
from synctrail.spark_errors import SPARK_ERRORS, translate
from synctrail.status import plain, read_status, show, table
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.choose import Staging

EXIT_QUARANTINED = 3
EXIT_INTERRUPTED = 130
_SHOWN_QUARANTINED = 10

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Brings sync logs of reverse-ETL tools into your warehouse, for good.",
)
_reporter = Reporter(Console(stderr=True, highlight=False))


@app.command()
def load(  # noqa: PLR0917 - typer reads the options off it
    lake: Lake,
    project_dir: ProjectDir = Path(),
    profiles_dir: ProfilesDir = None,
    profile: ProfileName = None,
    target: TargetName = None,
    schema: SchemaName = None,
    org: Orgs = None,
    sync: Syncs = None,
    since: Since = None,
    payload: Payload = None,
    redact: Redact = None,
    privacy: PrivacyFile = None,
    stage: Stage = None,
    stage_url: StageUrl = None,
    stage_role: StageRole = None,
    conf: SparkSettings = None,
    wait: Wait = 0,
    log_format: Logs = LogFormat.TEXT,
    debug: Debug = False,
) -> None:
    """Load what is new in a Census Sync Tracking lake.

    The destination is the warehouse of the dbt target. The last line on standard output is the load's row of
    load_history, as JSON. Exit codes: 0 all files of the lake are loaded; 3 loaded, but at least one file is
    quarantined; 2 wrong usage; 1 failed, and nothing of the load was kept.
    """
    _reporter.use_json(log_format is LogFormat.JSON)
    staging = Staging(stage, stage_url, stage_role)
    warehouse = chosen_warehouse(project_dir, profiles_dir, profile, target, schema, staging=staging)
    options = {
        "selection": selection_of(org, sync, since),
        "privacy": read_privacy(payload.value if payload else None, redact or [], privacy),
        "wait_seconds": wait,
    }
    _load(warehouse, lake, conf, debug=debug, **options)


@app.command()
def retry(  # noqa: PLR0917 - typer reads the options off it
    lake: Lake,
    project_dir: ProjectDir = Path(),
    profiles_dir: ProfilesDir = None,
    profile: ProfileName = None,
    target: TargetName = None,
    schema: SchemaName = None,
    org: Orgs = None,
    sync: Syncs = None,
    payload: Payload = None,
    redact: Redact = None,
    privacy: PrivacyFile = None,
    stage: Stage = None,
    stage_url: StageUrl = None,
    stage_role: StageRole = None,
    conf: SparkSettings = None,
    wait: Wait = 0,
    log_format: Logs = LogFormat.TEXT,
    debug: Debug = False,
) -> None:
    """Read the quarantined files again, though they have not changed; no others.

    Worth it once a file may be read that might not be before, or after an upgrade. It is a load in all else:
    its last line on standard output and its exit codes are those of load.
    """
    _reporter.use_json(log_format is LogFormat.JSON)
    staging = Staging(stage, stage_url, stage_role)
    warehouse = chosen_warehouse(project_dir, profiles_dir, profile, target, schema, staging=staging)
    options = {
        "selection": selection_of(org, sync),
        "privacy": read_privacy(payload.value if payload else None, redact or [], privacy),
        "wait_seconds": wait,
        "planner": retry_plan,
    }
    _load(warehouse, lake, conf, debug=debug, **options)


@app.command()
def status(  # noqa: PLR0917 - typer reads the options off it
    project_dir: ProjectDir = Path(),
    profiles_dir: ProfilesDir = None,
    profile: ProfileName = None,
    target: TargetName = None,
    schema: SchemaName = None,
    lake: Annotated[
        str | None, typer.Option(help="Show the lag of each sync, too: list this lake and compare.")
    ] = None,
    org: Orgs = None,
    sync: Syncs = None,
    conf: SparkSettings = None,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object instead of tables.")] = False,
    debug: Debug = False,
) -> None:
    """Show what is loaded, the last loads, and which files are quarantined and why.

    With --lake also how far each sync is behind the lake; --org and --sync narrow what is listed of it.
    """
    if (org or sync) and not lake:
        raise UsageError("--org and --sync say what is listed of a lake; give --lake LAKE as well")
    warehouse = chosen_warehouse(project_dir, profiles_dir, profile, target, schema)
    if lake:
        checked_root(lake)
    spark = session(warehouse, conf, debug=debug) if warehouse.needs_spark or lake else None
    try:
        lags = None
        if spark is not None and lake:
            files = list_lake(spark, lake, selection_of(org, sync)).files
            lags = lag_by_sync(files, warehouse.files(), make_plan(files, warehouse.ledger()))
        found = read_status(warehouse, lags)
    except SPARK_ERRORS as error:
        raise translate(error, lake or warehouse.name) from error
    if as_json:
        sys.stdout.write(json.dumps(found.to_dict()) + "\n")
    else:
        Console(highlight=False).print(show(found))


@app.command()
def prune(  # noqa: PLR0917 - typer reads the options off it
    before: Annotated[
        dt.datetime,
        typer.Option(formats=["%Y-%m-%d"], metavar="DATE", help="Runs that ended before this date (UTC)."),
    ],
    project_dir: ProjectDir = Path(),
    profiles_dir: ProfilesDir = None,
    profile: ProfileName = None,
    target: TargetName = None,
    schema: SchemaName = None,
    org: Orgs = None,
    sync: Syncs = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it, only show what would be.")] = False,
    stage: Stage = None,
    stage_url: StageUrl = None,
    stage_role: StageRole = None,
    conf: SparkSettings = None,
    wait: Wait = 0,
    log_format: Logs = LogFormat.TEXT,
    debug: Debug = False,
) -> None:
    """Delete the rows of old runs from staging; later loads do not bring them back.

    A run is old if its newest record file was modified before the date. What dbt has built stays. The last
    line on standard output is one JSON object: runs, files, rows and whether they were deleted.
    """
    _reporter.use_json(log_format is LogFormat.JSON)
    staging = Staging(stage, stage_url, stage_role)
    warehouse = chosen_warehouse(
        project_dir, profiles_dir, profile, target, schema, staging=staging, brings_rows=False
    )
    if yes:
        session_to_write(warehouse, conf, debug=debug)
    elif warehouse.needs_spark:
        session(warehouse, conf, debug=debug)
    try:
        found = run_prune(
            warehouse, utc(before), selection=selection_of(org, sync), is_meant=yes, wait_seconds=wait
        )
    except SPARK_ERRORS as error:
        raise translate(error, warehouse.name) from error
    totals = {**found.totals, "is_done": found.is_done}
    if found.syncs and log_format is LogFormat.TEXT:
        _reporter.show(table("Rows of old runs", found.syncs, ("org_id", "sync_id", "runs", "files", "rows")))
    done = "deleted" if found.is_done else "would delete"
    hint = "" if found.is_done or not found.syncs else "; give --yes to do it"
    counts = "{rows:,} rows of {files:,} files of {runs:,} runs".format(**totals)
    _reporter.say(f"{done} {counts}{hint}", "pruned" if found.is_done else "prunable", **totals)
    _print_json(totals)


@app.command()
def forget(  # noqa: PLR0917 - typer reads the options off it
    identifiers: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="IDENTIFIER...", help="Values of record_identifier, as they are.", show_default=False
        ),
    ] = None,
    project_dir: ProjectDir = Path(),
    profiles_dir: ProfilesDir = None,
    profile: ProfileName = None,
    target: TargetName = None,
    schema: SchemaName = None,
    sync: Annotated[
        list[str] | None,
        typer.Option("--sync", metavar="ID", help="Only in this sync; may be repeated. Else in every sync."),
    ] = None,
    file: Annotated[
        typer.FileText | None,
        typer.Option("--from", metavar="FILE", help="Identifiers, one a line; - is standard input."),
    ] = None,
    stage: Stage = None,
    stage_url: StageUrl = None,
    stage_role: StageRole = None,
    conf: SparkSettings = None,
    wait: Wait = 0,
    log_format: Logs = LogFormat.TEXT,
    debug: Debug = False,
) -> None:
    """Erase people from staging: every row of these identifiers, for good.

    A salted hash of each identifier stays, by which later loads leave the rows out that the lake still has.
    An argument is seen in the shell's history and the list of processes: --from - avoids it. The last line on
    standard output is one JSON object: identifiers and rows_erased.
    """
    _reporter.use_json(log_format is LogFormat.JSON)
    wanted = [*(identifiers or []), *(line.rstrip("\r\n") for line in file or [])]
    if not all(wanted) or not wanted:
        raise UsageError("no identifier, or an empty one, was given; name at least one, or give --from FILE")
    staging = Staging(stage, stage_url, stage_role)
    warehouse = chosen_warehouse(
        project_dir, profiles_dir, profile, target, schema, staging=staging, brings_rows=False
    )
    session_to_write(warehouse, conf, debug=debug)
    try:
        with _reporter.working(f"erasing from {warehouse.name}", "erasing"):
            found = run_forget(warehouse, wanted, sync or [], wait_seconds=wait)
    except SPARK_ERRORS as error:
        raise translate(error, warehouse.name) from error
    told = {"identifiers": found.identifiers, "rows_erased": found.rows_erased}
    message = f"erased {found.rows_erased:,} rows of {found.identifiers:,} identifiers"
    _reporter.say(message, "erased", **told)
    _print_json(told)


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
    _reporter.fail(f"synctrail: {message}", exit_code=code)
    sys.exit(code)


def _load(warehouse: Warehouse, lake: str, conf: list[str] | None, *, debug: bool, **options: Any) -> None:
    """Run a load, tell its outcome, and exit by it."""
    # Spark takes seconds to start: a wrong path, or a right that is missing, is told before.
    warehouse.check()
    checked_root(lake)
    spark = session(warehouse, conf, debug=debug)
    try:
        result = run_load(spark, warehouse, lake, _reporter, **options)
    except SPARK_ERRORS as error:
        raise translate(error, lake) from error
    _tell(result)
    _print_json(plain(result.history))
    raise typer.Exit(0 if result.is_complete else EXIT_QUARANTINED)


def _tell(result: LoadResult) -> None:
    for outcome in result.quarantined[:_SHOWN_QUARANTINED]:
        message = f"quarantined {outcome.path}: {outcome.reason}, {outcome.detail}"
        found = {"path": outcome.path, "reason": outcome.reason, "detail": outcome.detail}
        _reporter.warn(message, "quarantined", **found)
    if (more := len(result.quarantined) - _SHOWN_QUARANTINED) > 0:
        message = f"and {more:,} more files are quarantined; synctrail status shows all"
        _reporter.say(message, "more_quarantined", files=more)
    history = result.history
    reasons = Counter(str(outcome.reason) for outcome in result.quarantined)
    if reasons:
        counts = ", ".join(f"{count:,} {reason}" for reason, count in reasons.most_common())
        _reporter.say(f"quarantined {len(result.quarantined):,} files: {counts}", "reasons", **reasons)
    seconds = (history["finished_at"] - history["started_at"]).total_seconds()
    if not history["files_loaded"] and not history["files_quarantined"]:
        message = f"nothing new in {history['files_seen']:,} files"
    else:
        message = f"loaded {history['rows_loaded']:,} rows from {history['files_loaded']:,} files"
    _reporter.say(f"{message}, in {seconds:,.1f} s", "summary", **plain(history), seconds=round(seconds, 3))


def _print_json(row: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(row) + "\n")


if __name__ == "__main__":
    main()
