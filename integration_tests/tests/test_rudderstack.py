"""RudderStack's sync logs as a source."""

from __future__ import annotations

from comparison import assert_models_hold
from dbt_project_runner import Project
from staging_rows import at
from vendor_examples.rudderstack import MINUTES, ROWS, expected_models, write
from vendor_tables import RUDDERSTACK_LOG, table
from warehouses import Warehouse

VARIABLES = {"synctrail_sources": ["rudderstack"]}
MODELS = ["+sync_log", "+sync_changelog", "+sync_snapshot", "+sync_runs", "+int_syncs"]


def build(project: Project, *arguments: str) -> None:
    project.run("run", *arguments, "--select", *MODELS, variables=VARIABLES)


def test_a_pruned_log_loses_nothing_even_through_a_full_refresh(
    project: Project, warehouse: Warehouse
) -> None:
    for rows in (ROWS[:3], ROWS[2:]):
        write(warehouse, rows)
        build(project)
    assert_models_hold(warehouse, expected_models())
    warehouse.write_tables("_rudderstack", {})
    build(project, "--full-refresh")
    assert_models_hold(warehouse, expected_models())


def test_other_names_of_columns_are_read_and_absent_ones_are_null(
    project: Project, warehouse: Warehouse
) -> None:
    names = {"connection_id": "SYNC_ID", "primary_key": "Row_Id", "sync_started_at": "started_at"}
    columns = {
        names.get(name, name): kind
        for name, kind in RUDDERSTACK_LOG.items()
        if name not in ("error_reason", "sync_finished_at")
    }
    rows = [{names.get(name, name): value for name, value in row.items()} for row in ROWS]
    warehouse.write_tables("_rudderstack", {"sync_log": table(columns, rows)})
    build(project)
    expected = expected_models()["sync_log"]
    for row in expected:
        row["status_message"] = None
    runs = [{"sync_run_id": run, "started_at": at(MINUTES[run]), "finished_at": None} for run in MINUTES]
    assert_models_hold(warehouse, {"sync_log": expected, "sync_runs": runs})
