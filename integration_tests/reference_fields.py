"""The rules of the field models, told once more in plain Python, for tests to compare the SQL with."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from reference_core import Row, core


@dataclass
class Fields:
    """The rows of the field models, by model, that the staging rows come to."""

    field_changes: list[Row] = field(default_factory=list)
    field_change_summary: list[Row] = field(default_factory=list)
    unparseable_payloads: dict[tuple[str, str], int] = field(default_factory=dict)


def fields(tables: dict[str, list[Row]]) -> Fields:
    """Return what the field models must hold, given the rows of the staging tables."""
    result = Fields()
    rows = core(tables)
    order = {(run["sync_id"], run["sync_run_id"]): place for place, run in enumerate(rows.sync_runs)}
    told: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for change in rows.sync_changelog:
        if change["is_final_attempt"] and change["status"] == "succeeded" and change["kind"] != "append":
            told[change["sync_id"], change["row_id"]].append(change)
    for changes in told.values():
        changes.sort(key=lambda change: order[change["sync_id"], change["sync_run_id"]])
        for previous, latest in pairwise(changes):
            if previous["kind"] == "upsert" and latest["kind"] == "upsert" and latest["op_type"] == "changed":
                result.field_changes += _changed_fields(previous, latest)
    result.field_change_summary = _summary(result.field_changes)
    result.unparseable_payloads = dict.fromkeys(order, 0)
    for attempt in rows.sync_log:
        payload = attempt["record_payload"]
        if payload is not None and json_object(payload) is None:
            result.unparseable_payloads[attempt["sync_id"], attempt["sync_run_id"]] += 1
    return result


def json_object(payload: str | None) -> dict[str, Any] | None:
    """Return the JSON object that the text is, or None."""
    try:
        value = json.loads(payload or "")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _changed_fields(previous: Row, latest: Row) -> list[Row]:
    old, new = json_object(previous["fields"]), json_object(latest["fields"])
    if old is None or new is None:
        return []
    return [
        {
            "source_system": latest["source_system"],
            "sync_id": latest["sync_id"],
            "sync_run_id": latest["sync_run_id"],
            "previous_run_id": previous["sync_run_id"],
            "record_identifier": latest["row_id"],
            "field_name": name,
            "change_type": _change_type(old.get(name), new.get(name)),
            "old_value": _text(old.get(name)),
            "new_value": _text(new.get(name)),
            "changed_at": latest["occurred_at"],
        }
        for name in {**old, **new}
        if not _equal(old.get(name), new.get(name))
    ]


def _equal(left: Any, right: Any) -> bool:
    """Compare as JSON does: a number is never a boolean, whatever Python thinks of it."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_equal, left, right))
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(_equal(left[key], right[key]) for key in left)
    return bool(left == right)


def _change_type(old: Any, new: Any) -> str:
    if old is None:
        return "set"
    return "cleared" if new is None else "modified"


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True)


def _summary(changes: list[Row]) -> list[Row]:
    fields_of_update: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    changes_of_field: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for change in changes:
        fields_of_update[_update(change)].append(change["field_name"])
        changes_of_field[change["sync_id"], change["field_name"]].append(change)
    return [
        {
            "source_system": "census_lake",
            "sync_id": sync_id,
            "field_name": name,
            "n_changes": len(rows),
            "n_records": len({row["record_identifier"] for row in rows}),
            "n_runs": len({row["sync_run_id"] for row in rows}),
            "n_sole_changes": sum(fields_of_update[_update(row)] == [name] for row in rows),
            "share_of_updates": len({_update(row) for row in rows})
            / sum(update[0] == sync_id for update in fields_of_update),
            "first_changed_at": min(row["changed_at"] for row in rows),
            "last_changed_at": max(row["changed_at"] for row in rows),
            "noise_hint": _noise_hint([row for row in rows if row["change_type"] == "modified"]),
        }
        for (sync_id, name), rows in changes_of_field.items()
    ]


def _update(change: Row) -> tuple[str, str, str]:
    return change["sync_id"], change["sync_run_id"], change["record_identifier"]


def _noise_hint(modified: list[Row]) -> str | None:
    kinds = {
        "timestamp_granularity": _within_a_date,
        "whitespace_or_case": _in_case_or_space,
        "numeric_precision": _in_precision,
    }
    for hint, is_noise in kinds.items():
        n_noise = sum(is_noise(row["old_value"], row["new_value"]) for row in modified)
        if n_noise >= 5 and n_noise / len(modified) >= 0.9:
            return hint
    return None


def _within_a_date(old: str, new: str) -> bool:
    try:
        dates = {_utc(value).date() for value in (old, new)}
    except ValueError:
        return False
    return len(dates) == 1


def _utc(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    return moment.astimezone(UTC) if moment.tzinfo else moment


def _in_case_or_space(old: str, new: str) -> bool:
    return " ".join(old.split()).lower() == " ".join(new.split()).lower()


def _in_precision(old: str, new: str) -> bool:
    try:
        left, right = float(old), float(new)
    except ValueError:
        return False
    return left == right or abs(left - right) < max(abs(left), abs(right)) / 1_000_000
