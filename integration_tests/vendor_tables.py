"""Builds the tables that vendors write into the warehouse, as tests need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

Row = dict[str, Any]

NUMBER, TEXT, TIME = pa.int64(), pa.string(), pa.timestamp("us", tz="UTC")

# Census's own columns, in its order; ids are numbers, as some warehouses have them.
WRITEBACK_LOG = {
    "log_id": TEXT,
    "sync_id": NUMBER,
    "sync_run_id": NUMBER,
    "record_identifier": TEXT,
    "record_payload": TEXT,
    "batch_started_at": TIME,
    "batch_completed_at": TIME,
    "operation": TEXT,
    "status": TEXT,
    "status_message": TEXT,
    "_census_logged_at": TIME,
    "destination_id": NUMBER,
    "destination_object_id": NUMBER,
    "source_id": NUMBER,
    "source_object_id": NUMBER,
}
WRITEBACK_FACTS = {
    "source_objects": {
        "id": NUMBER,
        "type": TEXT,
        "name": TEXT,
        "model_id": NUMBER,
        "business_object_id": NUMBER,
        "filter_segment_id": NUMBER,
        "cohort_id": NUMBER,
    },
    "destinations": {"id": NUMBER, "type": TEXT, "name": TEXT},
    "destination_objects": {"id": NUMBER, "type": TEXT, "name": TEXT},
}
# What Databricks does not have.
NOT_ON_DATABRICKS = ("destination_id", "destination_object_id", "source_id", "source_object_id")


def table(columns: dict[str, pa.DataType], rows: Iterable[Row], without: Iterable[str] = ()) -> pa.Table:
    """Return rows as a table of these columns, but for those that a warehouse lacks."""
    kept = {name: kind for name, kind in columns.items() if name not in without}
    schema = pa.schema(list(kept.items()))
    return pa.Table.from_pylist([{name: row.get(name) for name in kept} for row in rows], schema)


HIGHTOUCH_CHANGELOG = {
    "sync_id": NUMBER,
    "sync_run_id": NUMBER,
    "op_type": TEXT,
    "row_id": TEXT,
    "status": TEXT,
    "failure_reason": TEXT,
    "fields": TEXT,
    "split_group": TEXT,
}
HIGHTOUCH_COUNTS = [
    f"num_{outcome}_{noun}"
    for outcome in ("planned", "attempted", "succeeded", "failed")
    for noun in ("add", "change", "remove")
]
HIGHTOUCH_RUNS = {
    "sync_id": NUMBER,
    "sync_run_id": NUMBER,
    "primary_key": TEXT,
    "destination": TEXT,
    "model_name": TEXT,
    "model_id": NUMBER,
    "status": TEXT,
    "error": TEXT,
    "started_at": TIME,
    "finished_at": TIME,
    **dict.fromkeys(HIGHTOUCH_COUNTS, NUMBER),
}

RUDDERSTACK_LOG = {
    "connection_id": TEXT,
    "sync_run_id": TEXT,
    "primary_key": TEXT,
    "operation": TEXT,
    "status": TEXT,
    "error_reason": TEXT,
    "sync_started_at": TIME,
    "sync_finished_at": TIME,
}

HIGHTOUCH_HOLDOUT = {
    "sync_id": NUMBER,
    "sync_run_id": NUMBER,
    "model_id": NUMBER,
    "timestamp": TIME,
    "row_id": TEXT,
    "fields": TEXT,
}
HIGHTOUCH_MEMBERSHIP = {
    "ht_row_id": TEXT,
    "ht_audience_id": NUMBER,
    "ht_timestamp": TIME,
    "ht_event_type": TEXT,
    "ht_split_group": TEXT,
}
