"""Dagster: load the lake, build the models, and fail where a sync lags behind.

    census_lake ──> synctrail_models      the job synctrail, hourly
    check_lag                             the job synctrail_lag, half an hour later

Settings are environment variables of the code location; docs/orchestration.md lists them.
"""

import datetime as dt
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dagster as dg

BIN = Path(os.environ.get("SYNCTRAIL_BIN", ""))
SYNCTRAIL, DBT = str(BIN / "synctrail"), str(BIN / "dbt")
# dbt's unit tests are for whoever works on the models.
BUILD = [DBT, "build", "--select", "synctrail", "--exclude-resource-type", "unit_test"]

# Exit codes of synctrail load; 1 is a failure that the next try may not meet.
LOADED, WRONG_USAGE, QUARANTINED = 0, 2, 3

NONE_QUARANTINED = dg.AssetCheckSpec("none_quarantined", asset="census_lake")


@dg.asset(check_specs=[NONE_QUARANTINED], retry_policy=dg.RetryPolicy(max_retries=3, delay=600))
def census_lake(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
    """Load what is new in the lake; the metadata is the load's row of load_history."""
    command = [SYNCTRAIL, "load", os.environ["SYNCTRAIL_LAKE"], "--log-format", "json"]
    exit_code, last_line = run_logged(command, context.log.info)
    if exit_code not in (LOADED, QUARANTINED):
        raise dg.Failure(last_line, allow_retries=exit_code != WRONG_USAGE)
    history = json.loads(last_line)
    check = dg.AssetCheckResult(
        check_name=NONE_QUARANTINED.name,
        passed=exit_code == LOADED,
        severity=dg.AssetCheckSeverity.WARN,
        description="synctrail status shows which files are quarantined, and why",
    )
    return dg.MaterializeResult(metadata=history, check_results=[check])


@dg.asset(deps=[census_lake])
def synctrail_models() -> None:
    """Build the models of the dbt package; dbt's output is that of the step."""
    subprocess.run(BUILD, check=True)


@dg.op(retry_policy=dg.RetryPolicy(max_retries=1, delay=300))
def check_lag() -> None:
    """Fail where a sync lags behind the lake, whether the loads go well or not."""
    command = [SYNCTRAIL, "status", "--lake", os.environ["SYNCTRAIL_LAKE"], "--json"]
    status = json.loads(subprocess.check_output(command))
    most = int(os.environ.get("SYNCTRAIL_MAX_LAG_SECONDS", "86400"))
    late = [f"{sync['org_id']}/{sync['sync_id']}" for sync in status["lag"] if lag_seconds(sync) > most]
    if late:
        raise dg.Failure(f"more than {most} seconds behind the lake: {', '.join(late)}", allow_retries=False)


def run_logged(command: list[str], log: Callable[[str], None]) -> tuple[int, str]:
    """Run a command whose lines go into the run's log as they come; return its exit code and last line."""
    line = ""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        for line in process.stdout or ():
            log(line.rstrip())
        return process.wait(), line
    finally:
        process.terminate()  # the run may have been cancelled; nothing of the load is kept then


def lag_seconds(sync: dict[str, Any]) -> float:
    """Return how far a sync is behind; where nothing of it is loaded yet, how long that has been so."""
    if sync["lag_seconds"] is not None:
        return float(sync["lag_seconds"])
    return (dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(sync["newest_in_lake_at"])).total_seconds()


synctrail = dg.define_asset_job("synctrail", [census_lake, synctrail_models])


@dg.job
def synctrail_lag() -> None:
    """Ask for the lag in a job of its own: a failed asset would keep it from being asked."""
    check_lag()


@dg.schedule(job=synctrail, cron_schedule="0 * * * *")
def hourly(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
    """Begin a run unless one is going on: there is one at a time."""
    unfinished = [
        dg.DagsterRunStatus.QUEUED,
        dg.DagsterRunStatus.NOT_STARTED,
        dg.DagsterRunStatus.STARTING,
        dg.DagsterRunStatus.STARTED,
        dg.DagsterRunStatus.CANCELING,
    ]
    if context.instance.get_runs(dg.RunsFilter(job_name=synctrail.name, statuses=unfinished), limit=1):
        return dg.SkipReason("the run before has not ended")
    return dg.RunRequest()


defs = dg.Definitions(
    assets=[census_lake, synctrail_models],
    jobs=[synctrail, synctrail_lag],
    schedules=[hourly, dg.ScheduleDefinition(job=synctrail_lag, cron_schedule="30 * * * *")],
)
