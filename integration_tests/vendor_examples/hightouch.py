"""An example of Hightouch's Warehouse Sync Logs: three runs of a sync, and what they come to."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from staging_rows import at
from vendor_tables import HIGHTOUCH_CHANGELOG, HIGHTOUCH_COUNTS, HIGHTOUCH_MEMBERSHIP, HIGHTOUCH_RUNS, table
from warehouses import Warehouse

Row = dict[str, Any]


def change(run: int, row_id: str, op_type: str, status: str = "succeeded", **given: Any) -> Row:
    return {
        "sync_id": 5,
        "sync_run_id": run,
        "op_type": op_type,
        "row_id": row_id,
        "status": status,
        "fields": f'{{"id":"{row_id}","run":{run}}}',
        "split_group": "treatment",
        **given,
    }


def run_row(run: int, **given: Any) -> Row:
    """Return a run's row; its counts are of its own, since they hold more than the changelog does."""
    minute = (run - 900) * 60
    return {
        "sync_id": 5,
        "sync_run_id": run,
        "primary_key": "id",
        "destination": "salesforce",
        "model_name": "Big spenders",
        "model_id": 77,
        "status": "succeeded",
        "started_at": at(minute),
        "finished_at": at(minute + 1.5),
        **{name: 10 + place for place, name in enumerate(HIGHTOUCH_COUNTS)},
        **given,
    }


CHANGES = [
    change(900, "a", "added"),
    change(900, "b", "added", "failed", failure_reason="Bad e-mail"),
    change(900, "c", "added", "aborted"),
    change(900, "d", "added"),
    change(900, "f", "changed"),
    change(901, "a", "changed"),
    change(901, "b", "changed", "failed", failure_reason="Bad e-mail again"),
    change(901, "d", "removed", "failed", failure_reason="Locked"),
    change(902, "c", "added"),
    change(902, "e", "added", "aborted"),
]
# The last run found nothing to do until its source failed.
RUNS = [run_row(900), run_row(901), run_row(902, status="failed", error="Cancelled", finished_at=None)]
# What Hightouch's own sync_snapshot says of them.
SNAPSHOT = [
    {**CHANGES[5], "op_type": "unchanged"},
    {**CHANGES[6], "op_type": "unchanged"},
    {**CHANGES[8], "op_type": "added"},
    {**CHANGES[9], "op_type": "added"},
    {**CHANGES[4], "op_type": "unchanged"},
]


def write(warehouse: Warehouse, changes: list[Row], runs: list[Row] | None, **tables: pa.Table) -> None:
    own = {"sync_runs": table(HIGHTOUCH_RUNS, runs)} if runs is not None else {}
    warehouse.write_tables(
        "hightouch_audit", {"sync_changelog": table(HIGHTOUCH_CHANGELOG, changes)} | own | tables
    )


def ids_as_text(row: Row) -> Row:
    return {name: str(value) if name.endswith("_id") and value else value for name, value in row.items()}


def expected_log(rows: list[Row]) -> list[Row]:
    operations = {"added": "create", "changed": "update", "removed": "delete"}
    started = {row["sync_run_id"]: row["started_at"] for row in RUNS}
    return [
        {
            "sync_id": "5",
            "sync_run_id": str(row["sync_run_id"]),
            "record_identifier": row["row_id"],
            "record_payload": row["fields"],
            "operation": operations[row["op_type"]],
            "status": "rejected" if row["status"] == "failed" else row["status"],
            "status_message": row.get("failure_reason"),
            "split_group": row["split_group"],
            "payload_kind": "source",
            "source_system": "hightouch",
            "batch_started_at": None,
            "occurred_at": started[row["sync_run_id"]],
            "source_object_id": "77",
        }
        for row in rows
    ]


def expected_runs(rows: list[Row]) -> list[Row]:
    return [
        {
            **{name: row.get(name) for name in HIGHTOUCH_RUNS},
            **{"sync_id": "5", "sync_run_id": str(row["sync_run_id"]), "model_id": "77"},
            "num_invalid": 0,
            "num_inferred_remove": 0,
            "duration_seconds": 90.0 if row["finished_at"] else None,
        }
        for row in rows
    ]


def in_hightouch_columns(rows: list[Row]) -> list[Row]:
    names = HIGHTOUCH_CHANGELOG.keys() - {"sync_run_id"}
    return [ids_as_text({name: row.get(name) for name in names}) for row in rows]


def expected_models() -> dict[str, list[Row]]:
    member: Row = {
        "audience_name": "Big spenders", "audience_type": "model", "destination": "salesforce",
        "entry_observed": True, "is_current": True, "exited_at": None,
    }  # fmt: skip
    return {
        "sync_log": expected_log(CHANGES),
        "sync_runs": expected_runs(RUNS),
        "sync_changelog": [
            {**row, "sync_run_id": str(origin["sync_run_id"]), "failed_reason": row["failure_reason"]}
            for row, origin in zip(in_hightouch_columns(CHANGES), CHANGES, strict=True)
        ],
        "sync_snapshot": in_hightouch_columns(SNAPSHOT),
        "audience_memberships": [
            member | {"record_identifier": "a", "entered_at": at(0), "reached_destination_at": at(0)},
            member | {"record_identifier": "b", "entered_at": at(0), "reached_destination_at": None},
            member | {"record_identifier": "c", "entered_at": at(0), "reached_destination_at": at(120)},
            member
            | {"record_identifier": "d", "entered_at": at(0), "reached_destination_at": at(0)}
            | {"is_current": False, "exited_at": at(60)},
            member | {"record_identifier": "e", "entered_at": at(120), "reached_destination_at": None},
            member
            | {"record_identifier": "f", "entered_at": None, "reached_destination_at": at(0)}
            | {"entry_observed": False},
        ],
    }


def held_out(run: int, row_id: str) -> Row:
    minute = (run - 900) * 60
    return {
        "sync_id": 5, "sync_run_id": run, "model_id": 77, "timestamp": at(minute), "row_id": row_id,
        "fields": f'{{"run":{run}}}',
    }  # fmt: skip


def planned(minute: int, row_id: str, event_type: str, split_group: str = "treatment") -> Row:
    return {
        "ht_row_id": row_id, "ht_audience_id": 77, "ht_timestamp": at(minute), "ht_event_type": event_type,
        "ht_split_group": split_group,
    }  # fmt: skip


HELD_OUT = [held_out(900, "x"), held_out(901, "x"), held_out(901, "y")]
PLANNED = [
    planned(-10, "a", "enter"), planned(-5, "a", "enter"), planned(500, "a", "exit"),
    planned(-90, "d", "enter"), planned(-80, "d", "exit"), planned(-10, "d", "enter"),
    planned(50, "d", "exit"), planned(200, "d", "enter"), planned(-10, "x", "enter", "control"),
]  # fmt: skip


def write_plans(warehouse: Warehouse, rows: list[Row]) -> None:
    """Make the table of the audience planner hold exactly these rows."""
    warehouse.write_tables("hightouch_planner", {"audience_membership": table(HIGHTOUCH_MEMBERSHIP, rows)})


def expected_audiences() -> dict[str, list[Row]]:
    """Return what those who were held out, and the plans, add to the marts of audiences."""
    control: Row = {
        "audience_name": "Big spenders", "record_identifier": "x", "split_group": "control", "n_runs": 2,
        "first_held_out_at": at(0), "first_held_out_run_id": "900", "last_held_out_at": at(60),
        "last_held_out_run_id": "901", "record_payload": '{"run":901}',
    }  # fmt: skip
    return {
        "audience_holdouts": [
            control,
            control
            | {"record_identifier": "y", "split_group": None, "n_runs": 1}
            | {"first_held_out_at": at(60), "first_held_out_run_id": "901"},
        ],
        "audience_memberships": [
            {"record_identifier": "a", "planned_entry_at": at(-10), "planned_exit_at": at(500)},
            {"record_identifier": "b", "planned_entry_at": None, "planned_exit_at": None},
            {"record_identifier": "c", "planned_entry_at": None, "planned_exit_at": None},
            {"record_identifier": "d", "planned_entry_at": at(-10), "planned_exit_at": at(50)},
            {"record_identifier": "e", "planned_entry_at": None, "planned_exit_at": None},
            {"record_identifier": "f", "planned_entry_at": None, "planned_exit_at": None},
        ],
    }
