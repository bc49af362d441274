"""A run's ``metadata.json``, read tolerantly: its key names are documented in words only.

Source: https://docs.getcensus.com/syncs/sync-monitoring/sync-tracking (the fields, not their spelling).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from synctrail import contract
from synctrail.columns import TypeConflict, as_timestamp, dump_json, first_line

_SYNONYMS = {
    "organization_id": ("organization_id", "org_id"),
    "sync_configuration_id": ("sync_configuration_id", "sync_id"),
    "sync_run_started_at": ("sync_run_started_at", "sync_run_start_time", "started_at", "start_time"),
    "record_payload_schema": ("record_payload_schema", "payload_schema"),
}
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class InvalidMetadata(Exception):  # noqa: N818 - a finding about a file
    """The text is no JSON object."""


def parse_metadata(content: bytes) -> dict[str, Any]:
    """Read one ``metadata.json``.

    Returns:
        The contract's fields (absent ones are None; ids as text; the start in UTC) and ``metadata``, the raw
        text.

    Raises:
        InvalidMetadata: the content is no JSON object.
        TypeConflict: an id is a list, or the start time is no timestamp.

    """
    try:
        text = content.decode(json.detect_encoding(content))
        found = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidMetadata(f"no JSON: {first_line(error)}") from error
    if not isinstance(found, dict):
        raise InvalidMetadata(f"a JSON {type(found).__name__}, not an object")
    flat: dict[str, Any] = {}
    for name, value in _flatten(found, ""):
        if flat.get(name) is None:
            flat[name] = value
    row: dict[str, Any] = {"metadata": text}
    for name in contract.RUN_METADATA_COLUMNS:
        spellings = _SYNONYMS.get(name, (name,))
        value = next((flat[spelling] for spelling in spellings if flat.get(spelling) is not None), None)
        row[name] = _field(name, value)
    return row


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON value")


def _flatten(value: dict[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        name = prefix + re.sub(r"[\s-]+", "_", _WORD_START.sub("_", key.strip())).lower()
        if isinstance(item, dict) and name not in _SYNONYMS["record_payload_schema"]:
            yield from _flatten(item, f"{name}_")
        else:
            yield name, item


def _field(name: str, value: Any) -> Any:
    if value is None:
        return None
    if name == "record_payload_schema":
        return value if isinstance(value, str) else dump_json(value)
    if isinstance(value, list):
        raise TypeConflict(f"{name} is a list")
    if name == "sync_run_started_at":
        return as_timestamp(name, pa.array([value]))[0].as_py()
    return value if isinstance(value, str) else json.dumps(value)
