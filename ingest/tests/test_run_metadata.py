"""``metadata.json`` in the spellings that are to be expected."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from synctrail.run_metadata import parse_metadata

STARTED = dt.datetime(2025, 11, 20, 10, 0, tzinfo=dt.UTC)
FLAT = {
    "organization_id": "1",
    "workspace_id": "2",
    "sync_configuration_id": "22",
    "sync_run_id": "333",
    "source_type": "FilterSegmentSource",
    "source_id": "4",
    "source_object_id": "5",
    "destination_type": "Salesforce",
    "destination_id": "6",
    "destination_object_id": "7",
    "sync_run_started_at": "2025-11-20T10:00:00Z",
    "record_payload_schema": {"email": "string", "nested": {"a": "number"}},
}
PARSED = FLAT | {
    "sync_run_started_at": STARTED,
    "record_payload_schema": '{"email":"string","nested":{"a":"number"}}',
}


def parsed(content):
    text = json.dumps(content)
    row = parse_metadata(text.encode())
    assert row.pop("metadata") == text
    return row


def test_flat_names():
    assert parsed(FLAT) == PARSED


def test_camel_case_and_words():
    assert parsed({_camel(name): value for name, value in FLAT.items()}) == PARSED
    assert parsed({name.replace("_", " ").title(): value for name, value in FLAT.items()}) == PARSED
    assert parsed({"organizationID": 1, "syncRunID": "333"})["sync_run_id"] == "333"


def test_nested_objects():
    nested = {
        "organization": {"id": 1},
        "workspace": {"id": 2},
        "syncConfiguration": {"id": 22},
        "sync_run": {"id": 333, "startedAt": "2025-11-20T12:00:00+02:00"},
        "source": {"type": "FilterSegmentSource", "id": 4, "object": {"id": 5}},
        "destination": {"type": "Salesforce", "id": 6, "objectId": 7},
        "recordPayloadSchema": FLAT["record_payload_schema"],
    }
    assert parsed(nested) == PARSED


@pytest.mark.parametrize(
    ("content", "field", "value"),
    [
        ({"org_id": 1}, "organization_id", "1"),
        ({"org_id": 1, "organization_id": 9}, "organization_id", "9"),
        ({"org_id": 1, "organization_id": None}, "organization_id", "1"),
        ({"sync_id": 22}, "sync_configuration_id", "22"),
        ({"sync_run_start_time": "2025-11-20 10:00:00"}, "sync_run_started_at", STARTED),
        ({"started_at": "2025-11-20T10:00:00"}, "sync_run_started_at", STARTED),
        ({"startTime": "2025-11-20T10:00:00.000000000Z"}, "sync_run_started_at", STARTED),
        ({"started_at": ""}, "sync_run_started_at", None),
        ({"payloadSchema": {"a": "string"}}, "record_payload_schema", '{"a":"string"}'),
        ({"record_payload_schema": '{"a": "string"}'}, "record_payload_schema", '{"a": "string"}'),
        ({"source_id": True}, "source_id", "true"),
        ({"source_id": 12345678901234567890}, "source_id", "12345678901234567890"),
        ({"unknown": {"deep": [1, 2]}}, "source_id", None),
    ],
)
def test_synonyms_and_types(content, field, value):
    assert parsed(content)[field] == value


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings(encoding):
    row = parse_metadata(json.dumps({"source_type": "Größe"}, ensure_ascii=False).encode(encoding))
    assert row["source_type"] == "Größe"


def _camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)
