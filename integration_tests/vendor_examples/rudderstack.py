"""An example of RudderStack's sync logs: two runs of a sync, and what they come to."""

from __future__ import annotations

from typing import Any

from staging_rows import at
from vendor_tables import RUDDERSTACK_LOG, table
from warehouses import Warehouse

Row = dict[str, Any]

MINUTES = {"runA": 0, "runB": 60}


def logged(run: str, key: str, operation: str, error: str | None = None) -> Row:
    return {
        "connection_id": "2abC",
        "sync_run_id": run,
        "primary_key": key,
        "operation": operation,
        "status": "failed" if error else "succeeded",
        "error_reason": error,
        "sync_started_at": at(MINUTES[run]),
        "sync_finished_at": at(MINUTES[run] + 2),
    }


ROWS = [
    logged("runA", "a", "insert"),
    logged("runA", "b", "insert", "400: bad e-mail"),
    logged("runA", "c", "update"),
    logged("runB", "a", "delete"),
    logged("runB", "b", "insert"),
    # An update of a record that was never in is an update: the vendor knows what it did before the log began.
    logged("runB", "d", "update", "429: slow down"),
]


def write(warehouse: Warehouse, rows: list[Row]) -> None:
    warehouse.write_tables("_rudderstack", {"sync_log": table(RUDDERSTACK_LOG, rows)})


def expected_models() -> dict[str, list[Row]]:
    op_types = {"insert": "added", "update": "changed", "delete": "removed"}
    run: Row = {
        "sync_id": "2abC", "primary_key": None, "destination": None, "model_name": None, "error": None,
        "status": "succeeded", "duration_seconds": 120.0, "source_system": "rudderstack",
    }  # fmt: skip
    record: Row = {"sync_id": "2abC", "fields": None}
    return {
        "sync_log": [
            {
                "sync_id": "2abC",
                "sync_run_id": row["sync_run_id"],
                "record_identifier": row["primary_key"],
                "record_payload": None,
                "payload_kind": None,
                "operation": row["operation"],
                "status": "rejected" if row["error_reason"] else "succeeded",
                "status_message": row["error_reason"],
                "occurred_at": row["sync_started_at"],
            }
            for row in ROWS
        ],
        "sync_runs": [
            run
            | {"sync_run_id": "runA", "started_at": at(0), "finished_at": at(2)}
            | {"num_planned_add": 2, "num_failed_add": 1, "num_planned_change": 1, "num_failed_change": 0}
            | {"num_planned_remove": 0},
            run
            | {"sync_run_id": "runB", "started_at": at(60), "finished_at": at(62)}
            | {"num_planned_add": 1, "num_failed_add": 0, "num_planned_change": 1, "num_failed_change": 1}
            | {"num_planned_remove": 1},
        ],
        "sync_changelog": [
            {
                "sync_run_id": row["sync_run_id"],
                "row_id": row["primary_key"],
                "op_type": op_types[row["operation"]],
                "status": row["status"],
                "failure_reason": row["error_reason"],
                "is_inferred": False,
            }
            for row in ROWS
        ],
        "sync_snapshot": [
            record
            | {"row_id": "b", "op_type": "added", "status": "succeeded", "in_destination": True}
            | {"failure_reason": None},
            record
            | {"row_id": "c", "op_type": "unchanged", "status": "succeeded", "in_destination": True}
            | {"failure_reason": None},
            record
            | {"row_id": "d", "op_type": "changed", "status": "failed", "in_destination": False}
            | {"failure_reason": "429: slow down"},
        ],
        "int_syncs": [{"sync_id": "2abC", "audience_name": "2abC", "audience_type": "model"}],
    }
