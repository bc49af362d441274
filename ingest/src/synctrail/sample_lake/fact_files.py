"""What lies in a lake beside record files: metadata.json, the fact tables, and files that are no data."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from synctrail.sample_lake.catalog import LAST_RUN, SYNCS, Organization, SourceObject
from synctrail.sample_lake.payloads import payload_schema
from synctrail.sample_lake.record_files import set_modified
from synctrail.sample_lake.schedule import Run

_REFRESHED_AT = LAST_RUN.replace(hour=18, minute=0)
_PARTS = 2
_REFERENCES = {
    "Query": "model_id",
    "BusinessObjectSource": "business_object_id",
    "FilterSegmentSource": "filter_segment_id",
    "CohortSource": "cohort_id",
}
_UNCONVENTIONAL_NAMES = {
    "source_objects": "facts_01.parquet",
    "destinations": "connections-export.parquet",
    "destination_objects": "part-00000-c000.snappy.parquet",
}

Row = dict[str, Any]


def write_run_metadata(folder: Path, run: Run) -> None:
    """Write a run's metadata.json in its organization's spelling."""
    write = {"nested": _nested, "camel_case": _camel_case, "snake_case": _snake_case}
    path = folder / "metadata.json"
    content = write[run.sync.org.metadata_spelling](run)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
    set_modified(path, run.started_at)


def write_facts(root: Path) -> None:
    """Write each organization's fact tables, as of the last refresh."""
    for org in dict.fromkeys(sync.org for sync in SYNCS):
        folder = root / "metadata" / org.org_id
        for name, rows in _facts(org).items():
            for path, part in _laid_out(folder, org.facts_layout, name, rows):
                path.parent.mkdir(parents=True, exist_ok=True)
                pq.write_table(_fact_table(org, part), path, store_schema=False)
                set_modified(path, _REFRESHED_AT)


def write_files_that_are_no_data(root: Path, run: Run, folder: Path) -> None:
    """Write what other tools leave in a bucket: a load must not open any of it."""
    no_data = {
        folder / "_SUCCESS": b"",
        folder / ".records_updated.0.parquet.crc": b"crc\x00\x00\x02\x00\x8a",
        folder / "_temporary" / "0" / "records_updated.0.parquet": b"PAR1 half of a file",
        root / "sync-unloads" / run.sync.org.org_id / "unload-0001.csv": "id;näme\n1;Zoë\n".encode("latin-1"),
        root / "sync-unloads" / run.sync.org.org_id / "part-0.parquet": b"not Parquet at all",
    }
    for path, content in no_data.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        set_modified(path, run.started_at + run.duration)


def _nested(run: Run) -> Row:
    sync = run.sync
    return {
        "organization": {"id": int(sync.org.org_id)},
        "workspace": {"id": sync.workspace_id},
        "syncConfiguration": {"id": sync.sync_id},
        "syncRun": {"id": run.sync_run_id, "startedAt": _iso(run.started_at)},
        "source": {"type": sync.source.type, "id": _connection_id(sync.org), "objectId": sync.source.id},
        "destination": {
            "type": sync.destination.type,
            "id": sync.destination.id,
            "objectId": sync.destination.object_id,
        },
        "recordPayloadSchema": payload_schema(sync.shape, sync.key),
    }


def _camel_case(run: Run) -> Row:
    sync = run.sync
    return {
        "organizationId": sync.org.org_id,
        "workspaceId": str(sync.workspace_id),
        "syncConfigurationId": str(sync.sync_id),
        "syncRunId": str(run.sync_run_id),
        "sourceType": sync.source.type,
        "sourceId": str(_connection_id(sync.org)),
        "sourceObjectId": str(sync.source.id),
        "destinationType": sync.destination.type,
        "destinationId": str(sync.destination.id),
        "destinationObjectId": str(sync.destination.object_id),
        "syncRunStartTime": _iso(run.started_at),
        "payloadSchema": payload_schema(sync.shape, sync.key),
    }


def _snake_case(run: Run) -> Row:
    sync = run.sync
    return {
        "org_id": int(sync.org.org_id),
        "workspace_id": sync.workspace_id,
        "sync_id": sync.sync_id,
        "sync_run_id": run.sync_run_id,
        "started_at": run.started_at.astimezone(dt.timezone(dt.timedelta(hours=1))).isoformat(
            "T", "milliseconds"
        ),
        "source_type": sync.source.type,
        "source_id": _connection_id(sync.org),
        "source_object_id": sync.source.id,
        "destination_type": sync.destination.type,
        "destination_id": sync.destination.id,
        "destination_object_id": sync.destination.object_id,
        "record_payload_schema": payload_schema(sync.shape, sync.key),
    }


def _facts(org: Organization) -> dict[str, list[Row]]:
    syncs = [sync for sync in SYNCS if sync.org is org]
    destinations = [sync.destination for sync in syncs]
    return {
        "source_objects": [_source_row(sync.source) for sync in syncs],
        "destinations": [{"id": each.id, "type": each.type, "name": each.name} for each in destinations],
        "destination_objects": [
            {"id": each.object_id, "type": each.object_type, "name": each.object_name}
            for each in destinations
        ],
    }


def _source_row(source: SourceObject) -> Row:
    row: Row = {"id": source.id, "type": source.type, "name": source.name}
    references = dict.fromkeys(("model_id", "business_object_id", "filter_segment_id", "cohort_id"))
    return (
        row
        | references
        | {name: source.reference_id for kind, name in _REFERENCES.items() if kind == source.kind}
    )


def _fact_table(org: Organization, rows: list[Row]) -> pa.Table:
    number = pa.int64() if org.integer_ids else pa.string()
    columns = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        is_text = name in ("type", "name")
        columns[name] = pa.array(values, pa.string() if is_text else pa.int64()).cast(
            pa.string() if is_text else number
        )
    return pa.table(columns)


def _laid_out(folder: Path, layout: str, name: str, rows: list[Row]) -> Iterator[tuple[Path, list[Row]]]:
    if layout == "folders":
        for part in range(_PARTS):
            yield folder / name / f"part-{part:05d}.parquet", rows[part::_PARTS]
    elif layout == "unconventional":
        yield folder / _UNCONVENTIONAL_NAMES[name], rows
    else:
        yield folder / f"{name}.parquet", rows


def _connection_id(org: Organization) -> int:
    return 900 + len(org.org_id)


def _iso(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%f")[:-3] + "Z"
