"""Census Warehouse Writeback as a source: its tables as Census writes and prunes them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from comparison import assert_models_hold
from dbt_project_runner import Project
from random_histories import random_deliveries
from reference_core import core
from staging_rows import Attempt, Lake, at
from vendor_tables import NOT_ON_DATABRICKS, TEXT, WRITEBACK_FACTS, WRITEBACK_LOG, table
from warehouses import Warehouse

Row = dict[str, Any]

VARIABLES = {"synctrail_sources": ["census_writeback"]}
CORE = ["+sync_log", "+sync_changelog", "+sync_snapshot", "+sync_runs", "+int_syncs"]
SEGMENT: Row = {"id": 30, "type": "DataWarehouse::FilterSegmentSource", "name": "Big spenders"}
SALESFORCE: Row = {"id": 40, "type": "Salesforce::Connection", "name": "Our CRM"}


def logged(run: int, identifier: str, operation: str, status: str = "succeeded", **given: Any) -> Row:
    """Return a row of sync_log; run 100 is at minute 0, run 101 an hour later."""
    minute = (run - 100) * 60
    return {
        "log_id": f"{run}-{identifier}",
        "sync_id": 7,
        "sync_run_id": run,
        "record_identifier": identifier,
        "record_payload": '{"Email": "' + identifier + '"}',
        "batch_started_at": at(minute),
        "batch_completed_at": at(minute + 1),
        "operation": operation,
        "status": status,
        "_census_logged_at": at(minute + 2),
        "destination_id": 40,
        "destination_object_id": 50,
        "source_id": 20,
        "source_object_id": 30,
        **given,
    }


FIRST_RUN = [
    logged(100, "ana", "Create"),
    logged(100, "bob", "create", "rejected", status_message="INVALID_EMAIL"),
    logged(100, "eve", "update"),
]
SECOND_RUN = [
    logged(101, "ana", "delete"),
    logged(101, "bob", "create"),
    logged(101, "eve", "update", record_payload='{"Email": "eve@x"}'),
]


def write(warehouse: Warehouse, rows: list[Row], without: tuple[str, ...] = (), facts: bool = True) -> None:
    tables = {"sync_log": table(WRITEBACK_LOG, rows, without)}
    if facts:
        given = {"source_objects": [SEGMENT], "destinations": [SALESFORCE], "destination_objects": []}
        tables |= {name: table(columns, given[name]) for name, columns in WRITEBACK_FACTS.items()}
    warehouse.write_tables("census", tables)


def build(project: Project, *arguments: str, **variables: object) -> None:
    project.run("run", *arguments, "--select", *CORE, variables=VARIABLES | variables)


def log_row(row: Row, **ids: Any) -> Row:
    """Return what sync_log holds of a row: ids as text, the operation in lower case."""
    named = {
        name: str(row[name])
        for name in ("destination_id", "destination_object_id", "source_id", "source_object_id")
    }
    return {
        **{name: row.get(name) for name in WRITEBACK_LOG},
        "sync_id": str(row["sync_id"]),
        "sync_run_id": str(row["sync_run_id"]),
        "operation": row["operation"].lower(),
        **named,
        **ids,
        "source_system": "census_writeback",
        "org_id": None,
        "workspace_id": None,
        "invalid_reason": None,
        "occurred_at": row["batch_started_at"],
        "split_group": None,
        "payload_kind": "sent",
    }


def expected_models(rows: list[Row]) -> dict[str, list[Row]]:
    """Return what the example's two runs come to."""
    run: Row = {
        "sync_id": "7", "primary_key": None, "destination": "Salesforce", "model_name": "Big spenders",
        "model_id": "30", "status": "succeeded", "error": None, "source_system": "census_writeback",
        "num_planned_add": 0, "num_planned_change": 0, "num_planned_remove": 0,
        "num_succeeded_add": 0, "num_succeeded_change": 0, "num_succeeded_remove": 0,
        "num_failed_add": 0, "num_failed_change": 0, "num_failed_remove": 0,
        "duration_seconds": 60.0, "destination_id": "40", "source_object_id": "30",
    }  # fmt: skip
    change: Row = {"sync_id": "7", "status": "succeeded", "failure_reason": None, "is_final_attempt": True}
    record: Row = {"sync_id": "7", "status": "succeeded", "in_destination": True, "sync_run_id": "101"}
    return {
        "sync_log": [log_row(row) for row in rows],
        "sync_runs": [
            run
            | {"sync_run_id": "100", "started_at": at(0), "finished_at": at(1)}
            | {"num_planned_add": 3, "num_succeeded_add": 2, "num_failed_add": 1},
            run
            | {"sync_run_id": "101", "started_at": at(60), "finished_at": at(61)}
            | {"num_planned_add": 1, "num_succeeded_add": 1, "num_planned_change": 1}
            | {"num_succeeded_change": 1, "num_planned_remove": 1, "num_succeeded_remove": 1},
        ],
        "sync_changelog": [
            change | {"sync_run_id": "100", "row_id": "ana", "op_type": "added"},
            change
            | {"sync_run_id": "100", "row_id": "bob", "op_type": "added", "status": "failed"}
            | {"failure_reason": "INVALID_EMAIL"},
            change | {"sync_run_id": "100", "row_id": "eve", "op_type": "added"},
            change | {"sync_run_id": "101", "row_id": "ana", "op_type": "removed"},
            change | {"sync_run_id": "101", "row_id": "bob", "op_type": "added"},
            change | {"sync_run_id": "101", "row_id": "eve", "op_type": "changed"},
        ],
        "sync_snapshot": [
            record | {"row_id": "bob", "op_type": "added", "fields": '{"Email": "bob"}'},
            record | {"row_id": "eve", "op_type": "changed", "fields": '{"Email": "eve@x"}'},
        ],
        "int_syncs": [{"sync_id": "7", "audience_name": "Big spenders", "audience_type": "segment"}],
    }


def test_what_census_prunes_stays_even_through_a_full_refresh(project: Project, warehouse: Warehouse) -> None:
    """The second build sees half of the first run and the whole second, the third the second run alone."""
    expected = expected_models(FIRST_RUN + SECOND_RUN)
    write(warehouse, FIRST_RUN)
    build(project)
    assert_models_hold(warehouse, {"sync_log": [log_row(row) for row in FIRST_RUN]})
    write(warehouse, FIRST_RUN[2:] + SECOND_RUN)
    build(project)
    assert_models_hold(warehouse, expected)
    write(warehouse, SECOND_RUN[:1])
    build(project)
    assert_models_hold(warehouse, expected)
    write(warehouse, [])
    build(project, "--full-refresh")
    assert_models_hold(warehouse, expected)


def test_history_is_what_the_table_holds_where_the_user_allows_it(
    project: Project, warehouse: Warehouse
) -> None:
    write(warehouse, FIRST_RUN)
    build(project)
    write(warehouse, SECOND_RUN)
    build(project, "--full-refresh", synctrail_allow_full_refresh=True)
    assert_models_hold(warehouse, {"sync_log": [log_row(row) for row in SECOND_RUN]})
    assert [row["sync_run_id"] for row in warehouse.query("select * from sync_runs")] == ["101"]


def test_what_databricks_lacks_is_null(project: Project, warehouse: Warehouse) -> None:
    rows = FIRST_RUN + SECOND_RUN
    write(warehouse, rows, without=NOT_ON_DATABRICKS, facts=False)
    build(project)
    expected = expected_models(rows)
    unknown = dict.fromkeys(NOT_ON_DATABRICKS)
    expected["sync_log"] = [log_row(row, **unknown) for row in rows]
    nameless: Row = {"destination": None, "model_name": None, "model_id": None}
    expected["sync_runs"] = [
        row | nameless | {"destination_id": None, "source_object_id": None} for row in expected["sync_runs"]
    ]
    expected["int_syncs"] = [{"sync_id": "7", "audience_name": "7", "audience_type": None}]
    assert_models_hold(warehouse, expected)


def test_ids_and_times_may_be_text(project: Project, warehouse: Warehouse) -> None:
    columns = dict.fromkeys(WRITEBACK_LOG, TEXT)
    texts = [
        {
            name: value.isoformat() if hasattr(value, "isoformat") else value and str(value)
            for name, value in row.items()
        }
        for row in FIRST_RUN
    ]
    warehouse.write_tables("census", {"sync_log": table(columns, texts)})
    build(project)
    assert_models_hold(warehouse, {"sync_log": [log_row(row) for row in FIRST_RUN]})


def test_a_sync_that_comes_through_the_lake_too_is_warned_of(project: Project, warehouse: Warehouse) -> None:
    both = {"synctrail_sources": ["census_lake", "census_writeback"]}
    warning = ["--warn-error", "--select", "syncs_come_from_one_census_source"]
    write(warehouse, FIRST_RUN)
    lake = Lake()
    lake.load("another sync", [Attempt(log_id="1", sync_id="8")], [])
    warehouse.write_staging(lake.tables())
    project.run("run", "--select", "+sync_runs", variables=both)
    project.run("test", *warning, variables=both)
    lake.load("the same sync", [Attempt(log_id="2", sync_id="7")], [])
    warehouse.write_staging(lake.tables())
    project.run("run", "--select", "+sync_runs", variables=both)
    with pytest.raises(AssertionError, match="syncs_come_from_one_census_source"):
        project.run("test", *warning, variables=both)


@pytest.mark.parametrize("seed", [300, 301])
def test_every_build_leaves_the_core_as_the_rules_say(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    """Rows arrive in any order, and at each build the table has lost most of what earlier ones saw."""
    rng = random.Random(seed)
    lake, rows = Lake(), dict[str, Row]()
    for number, (attempts, _) in enumerate(random_deliveries(seed, syncs=60, loads=4)):
        new = {row["log_id"]: row for row in map(as_written, attempts)}
        new = {log_id: row for log_id, row in new.items() if log_id not in rows}
        left = [row for row in rows.values() if rng.random() < 0.3]
        warehouse.write_tables("census", {"sync_log": table(TEXT_LOG, [*left, *new.values()])})
        rows |= new
        lake.attempts = {"": [as_staged(row) for row in rows.values()]}
        build(project, *(["--full-refresh"] if number == 2 else []))
        history = core(lake.tables())
        assert_models_hold(
            warehouse,
            {
                "sync_log": [as_logged(row) for row in history.sync_log],
                "sync_runs": [as_run(row) for row in history.sync_runs],
                "sync_snapshot": [of_writeback(row) for row in history.sync_snapshot],
                "sync_changelog": [
                    {
                        name: value
                        for name, value in of_writeback(change).items()
                        if name not in ("kind", "log_status", "log_id")
                    }
                    for change in history.sync_changelog
                ],
            },
        )
    assert any(change["is_inferred"] for change in history.sync_changelog)


TEXT_LOG = {**WRITEBACK_LOG, "sync_id": pa.string(), "sync_run_id": pa.string()}


def as_written(attempt: Any) -> Row:
    row = attempt.row("")
    kept = {name: row[name] for name in TEXT_LOG if name in row and name not in NOT_ON_DATABRICKS}
    return {**kept, "_census_logged_at": row["_file_modified_at"]}


def as_staged(row: Row) -> Row:
    """Return the row as the reference reads one of a lake, which says nothing of files."""
    unknown: Row = {"batch_number": None, "_source_file": None, "_source_row": None}
    return {**row, **unknown, "org_id": "1", "_file_modified_at": row["_census_logged_at"]}


def of_writeback(row: Row) -> Row:
    return {**row, "source_system": "census_writeback"}


def as_logged(row: Row) -> Row:
    return {**of_writeback(row), "org_id": None, "payload_kind": "sent"}


def as_run(row: Row) -> Row:
    return {**of_writeback(row), "org_id": None}
