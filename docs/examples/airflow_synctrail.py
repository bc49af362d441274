"""Airflow: load the lake, build the models, and fail where a sync lags behind.

    load ──> dbt_build
      └────> check_lag

Settings are environment variables of the workers; docs/orchestration.md lists them.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shlex
import subprocess
from functools import cached_property
from pathlib import Path
from typing import Any

from airflow.providers.standard.hooks.subprocess import SubprocessHook
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG, BaseOperator, task
from airflow.sdk.exceptions import AirflowException, AirflowFailException

BIN = Path(os.environ.get("SYNCTRAIL_BIN", ""))
SYNCTRAIL, DBT = str(BIN / "synctrail"), str(BIN / "dbt")
# dbt's unit tests are for whoever works on the models.
BUILD = [DBT, "build", "--select", "synctrail", "--exclude-resource-type", "unit_test"]

# Exit codes of synctrail load; 1 is a failure that the next try may not meet.
LOADED, WRONG_USAGE, QUARANTINED = 0, 2, 3


class SynctrailLoad(BaseOperator):
    """Loads what is new in the lake; its XCom is the load's row of load_history."""

    @cached_property
    def hook(self) -> SubprocessHook:
        """What runs the command; Airflow's way to end it with its task."""
        return SubprocessHook()

    def execute(self, context: Any) -> dict[str, Any]:  # noqa: ARG002 - Airflow gives it
        """Run the load; each of its lines goes into the task's log, and the last one is the row."""
        command = [SYNCTRAIL, "load", os.environ["SYNCTRAIL_LAKE"], "--log-format", "json"]
        ended = self.hook.run_command(command)
        if ended.exit_code == WRONG_USAGE:
            raise AirflowFailException(f"not tried again, since it would fail again: {ended.output}")
        if ended.exit_code not in (LOADED, QUARANTINED):
            raise AirflowException(ended.output)
        if ended.exit_code == QUARANTINED:
            self.log.warning("loaded, but files of the lake are quarantined: synctrail status shows which")
        history: dict[str, Any] = json.loads(ended.output)
        return history

    def on_kill(self) -> None:
        """End the load with its task; nothing of it is kept."""
        self.hook.send_sigterm()


@task(trigger_rule="all_done")
def check_lag() -> None:
    """Fail where a sync lags behind the lake, whether the load went well or not."""
    command = [SYNCTRAIL, "status", "--lake", os.environ["SYNCTRAIL_LAKE"], "--json"]
    status = json.loads(subprocess.check_output(command))
    most = int(os.environ.get("SYNCTRAIL_MAX_LAG_SECONDS", "86400"))
    late = [f"{sync['org_id']}/{sync['sync_id']}" for sync in status["lag"] if lag_seconds(sync) > most]
    if late:
        raise AirflowFailException(f"more than {most} seconds behind the lake: {', '.join(late)}")


def lag_seconds(sync: dict[str, Any]) -> float:
    """Return how far a sync is behind; where nothing of it is loaded yet, how long that has been so."""
    if sync["lag_seconds"] is not None:
        return float(sync["lag_seconds"])
    return (dt.datetime.now(dt.UTC) - dt.datetime.fromisoformat(sync["newest_in_lake_at"])).total_seconds()


with DAG(
    "synctrail",
    schedule="@hourly",
    start_date=dt.datetime(2025, 1, 1, tzinfo=dt.UTC),
    catchup=False,  # one load brings all that is new, whenever it was written
    max_active_runs=1,
    max_active_tasks=1,  # a DuckDB file has one writer
):
    load = SynctrailLoad(task_id="load", retries=3, retry_delay=dt.timedelta(minutes=10))
    dbt_build = BashOperator(task_id="dbt_build", bash_command=shlex.join(BUILD))
    load >> [dbt_build, check_lag()]
