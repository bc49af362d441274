"""An example of Census Warehouse Writeback: two runs of a sync, and what they come to."""

from __future__ import annotations

from typing import Any

from staging_rows import at
from vendor_tables import WRITEBACK_FACTS, WRITEBACK_LOG, table
from warehouses import Warehouse

Row = dict[str, Any]

SEGMENT: Row = {"id": 33, "type": "DataWarehouse::FilterSegmentSource", "name": "Big spenders"}
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
        "source_object_id": 33,
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
        "model_id": "33", "status": "succeeded", "error": None, "source_system": "census_writeback",
        "num_planned_add": 0, "num_planned_change": 0, "num_planned_remove": 0,
        "num_succeeded_add": 0, "num_succeeded_change": 0, "num_succeeded_remove": 0,
        "num_failed_add": 0, "num_failed_change": 0, "num_failed_remove": 0,
        "duration_seconds": 60.0, "destination_id": "40", "source_object_id": "33",
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
