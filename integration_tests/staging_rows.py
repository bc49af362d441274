"""Builds rows of the loader's staging tables, as tests need them: small, typed, with sensible defaults."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta

EPOCH = datetime(2025, 12, 1, tzinfo=UTC)

RECORD_COLUMNS = {
    "log_id": "string",
    "org_id": "string",
    "sync_id": "string",
    "sync_run_id": "string",
    "record_identifier": "string",
    "record_payload": "string",
    "operation": "string",
    "status": "string",
    "status_message": "string",
    "batch_started_at": "timestamp",
    "batch_completed_at": "timestamp",
    "batch_type": "string",
    "batch_number": "int",
    "_extra": "string",
    "_source_file": "string",
    "_source_row": "bigint",
    "_file_modified_at": "timestamp",
    "_load_id": "string",
    "_loaded_at": "timestamp",
}
RUN_COLUMNS = {
    "org_id": "string",
    "workspace_id": "string",
    "sync_id": "string",
    "sync_run_id": "string",
    "source_type": "string",
    "source_id": "string",
    "source_object_id": "string",
    "destination_type": "string",
    "destination_id": "string",
    "destination_object_id": "string",
    "sync_run_started_at": "timestamp",
    "record_payload_schema": "string",
    "metadata": "string",
    "_source_file": "string",
    "_load_id": "string",
    "_loaded_at": "timestamp",
}
_FACT_TAIL = {"org_id": "string", "_source_file": "string", "_load_id": "string", "_loaded_at": "timestamp"}
_NAMED = {"id": "string", "type": "string", "name": "string"}
TABLES = {
    "sync_tracking_records": RECORD_COLUMNS,
    "sync_tracking_runs": RUN_COLUMNS,
    "source_objects": {
        **_NAMED,
        "model_id": "string",
        "business_object_id": "string",
        "filter_segment_id": "string",
        "cohort_id": "string",
        **_FACT_TAIL,
    },
    "destinations": {**_NAMED, **_FACT_TAIL},
    "destination_objects": {**_NAMED, **_FACT_TAIL},
    "forgotten_records": {
        "sync_id": "string",
        "identifier_hash": "string",
        "salt": "string",
        "forgotten_at": "timestamp",
        "load_id": "string",
    },
}


def at(minutes: float) -> datetime:
    """Return the moment so many minutes into the tests' time."""
    return EPOCH + timedelta(minutes=minutes)


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One row of a record file."""

    log_id: str
    sync_id: str = "1"
    sync_run_id: str = "100"
    record_identifier: str | None = "a"
    record_payload: str | None = None
    operation: str | None = "upsert"
    status: str | None = "succeeded"
    status_message: str | None = None
    batch_started_at: datetime | None = EPOCH
    batch_completed_at: datetime | None = EPOCH
    batch_number: int | None = 0
    source_row: int = 0
    org_id: str = "1"
    file_modified_at: datetime = EPOCH

    @property
    def source_file(self) -> str:
        """The path of the row's file below the lake's root."""
        number = "" if self.batch_number is None else f".{self.batch_number}"
        folder = f"sync_tracking_datasets/{self.org_id}/{self.sync_id}/{self.sync_run_id}"
        return f"{folder}/records_updated{number}.parquet"

    def row(self, load_id: str) -> dict[str, object]:
        """Return the staging row that this attempt becomes in a load."""
        values = asdict(self)
        return {
            **{name: values.get(name) for name in RECORD_COLUMNS},
            "batch_type": "records_updated",
            "_source_file": self.source_file,
            "_source_row": self.source_row,
            "_file_modified_at": self.file_modified_at,
            "_load_id": load_id,
            "_loaded_at": EPOCH,
        }


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run folder; without metadata, its ids alone are known."""

    sync_id: str = "1"
    sync_run_id: str = "100"
    sync_run_started_at: datetime | None = None
    has_metadata: bool = True
    org_id: str = "1"
    workspace_id: str | None = "10"
    source_type: str | None = "DataWarehouse::FilterSegmentSource"
    source_id: str | None = "20"
    source_object_id: str | None = "30"
    destination_type: str | None = "Salesforce::Connection"
    destination_id: str | None = "40"
    destination_object_id: str | None = "50"

    def row(self, load_id: str) -> dict[str, object]:
        """Return the staging row that this run becomes in a load."""
        ids = {name: getattr(self, name) for name in ("org_id", "sync_id", "sync_run_id")}
        values = asdict(self) if self.has_metadata else ids
        return {
            **{name: values.get(name) for name in RUN_COLUMNS},
            "metadata": "{}" if self.has_metadata else None,
            "_load_id": load_id,
            "_loaded_at": EPOCH,
        }


@dataclass
class Lake:
    """What staging holds after some loads; the rows of a file or run replace its earlier ones."""

    attempts: dict[str, list[dict[str, object]]] = field(default_factory=dict)
    runs: dict[tuple[str, str], dict[str, object]] = field(default_factory=dict)
    facts: dict[str, list[dict[str, object]]] = field(default_factory=dict)

    def load(self, load_id: str, attempts: Iterable[Attempt], runs: Iterable[Run]) -> None:
        """Add one load: every file among the attempts replaces its earlier rows, every run its own."""
        files: dict[str, list[dict[str, object]]] = {}
        for attempt in attempts:
            files.setdefault(attempt.source_file, []).append(attempt.row(load_id))
        self.attempts |= files
        for run in runs:
            self.runs[run.sync_id, run.sync_run_id] = run.row(load_id)

    def tables(self) -> dict[str, list[dict[str, object]]]:
        """Return the rows of every staging table."""
        records = [row for rows in self.attempts.values() for row in rows]
        return {
            **{name: [] for name in TABLES},
            **self.facts,
            "sync_tracking_records": records,
            "sync_tracking_runs": list(self.runs.values()),
        }
