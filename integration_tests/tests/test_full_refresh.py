"""What `--full-refresh` does to the history of rows that no source holds any longer."""

from __future__ import annotations

import pytest
from dbt_project_runner import Project
from staging_rows import Attempt, Lake, Run, at
from warehouses import Warehouse

HISTORY = ["+sync_log", "+sync_changelog", "+sync_snapshot", "+sync_runs"]


@pytest.fixture
def kept(project: Project, warehouse: Warehouse) -> Project:
    """Build two runs, then lose the first from the staging tables."""
    lakes = {run_id: Lake() for run_id in ("100", "101")}
    for minute, (run_id, lake) in enumerate(lakes.items()):
        attempt = Attempt(
            log_id=run_id, sync_run_id=run_id, record_identifier=run_id, batch_started_at=at(minute)
        )
        lake.load(f"load-{run_id}", [attempt], [Run(sync_run_id=run_id, sync_run_started_at=at(minute))])
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", *HISTORY)
    return project


def known_records(warehouse: Warehouse) -> set[object]:
    """Return the records of the log, the changelog and the snapshot, which agree."""
    found = [
        {row["record"] for row in warehouse.query(f"select {column} as record from {model}")}
        for model, column in (
            ("sync_log", "record_identifier"), ("sync_changelog", "row_id"), ("sync_snapshot", "row_id"),
        )
    ]  # fmt: skip
    assert found[0] == found[1] == found[2]
    return found[0]


def test_history_outlives_a_full_refresh(kept: Project, warehouse: Warehouse) -> None:
    kept.run("run", "--full-refresh", "--select", *HISTORY)
    assert known_records(warehouse) == {"100", "101"}
    runs = warehouse.query("select sync_run_id, destination, started_at from sync_runs")
    assert {(row["sync_run_id"], row["destination"], row["started_at"]) for row in runs} == {
        ("100", "Salesforce", at(0)),
        ("101", "Salesforce", at(1)),
    }


def test_history_is_rebuilt_where_the_user_allows_it(kept: Project, warehouse: Warehouse) -> None:
    kept.run("run", "--full-refresh", "--select", *HISTORY, variables={"synctrail_allow_full_refresh": True})
    assert known_records(warehouse) == {"101"}
    assert {row["sync_run_id"] for row in warehouse.query("select * from sync_runs")} == {"101"}
