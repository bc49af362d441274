"""Names that users build on: kinds of file, reasons of quarantine, and the columns of staging."""

from __future__ import annotations

from typing import Final

DEFAULT_SCHEMA: Final = "census_lake"

RECORDS: Final = "records"
RUN_METADATA: Final = "run_metadata"
SOURCE_OBJECTS: Final = "source_objects"
DESTINATIONS: Final = "destinations"
DESTINATION_OBJECTS: Final = "destination_objects"
FACT_KINDS: Final = (SOURCE_OBJECTS, DESTINATIONS, DESTINATION_OBJECTS)

LOADED: Final = "loaded"
QUARANTINED: Final = "quarantined"
PRUNED: Final = "pruned"

EMPTY_FILE: Final = "empty_file"
NOT_PARQUET: Final = "not_parquet"
TRUNCATED: Final = "truncated"
UNREADABLE: Final = "unreadable"
MISSING_COLUMNS: Final = "missing_columns"
TYPE_CONFLICT: Final = "type_conflict"
IDENTITY_MISMATCH: Final = "identity_mismatch"
INVALID_JSON: Final = "invalid_json"

SUCCEEDED: Final = "succeeded"
SUCCEEDED_WITH_QUARANTINE: Final = "succeeded_with_quarantine"

FACT_COLUMNS: Final = {
    SOURCE_OBJECTS: (
        "id",
        "type",
        "name",
        "model_id",
        "business_object_id",
        "filter_segment_id",
        "cohort_id",
    ),
    DESTINATIONS: ("id", "type", "name"),
    DESTINATION_OBJECTS: ("id", "type", "name"),
}

RUN_METADATA_COLUMNS: Final = (
    "organization_id",
    "workspace_id",
    "sync_configuration_id",
    "sync_run_id",
    "source_type",
    "source_id",
    "source_object_id",
    "destination_type",
    "destination_id",
    "destination_object_id",
    "sync_run_started_at",
    "record_payload_schema",
)

HISTORY_COLUMNS: Final = (
    "load_id",
    "lake",
    "started_at",
    "finished_at",
    "files_seen",
    "files_loaded",
    "files_quarantined",
    "rows_loaded",
    "bytes_read",
    "status",
)
