"""The definitions of the record marts, told once more in plain Python, for tests to compare the SQL with."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from reference_core import Core, Row

_FAILING = {"rejected", "invalid", "aborted"}


@dataclass
class RecordMarts:
    """The rows of the record marts, by model."""

    failed_records: list[Row] = field(default_factory=list)
    record_activity: list[Row] = field(default_factory=list)


def record_marts(
    history: Core, memberships: list[Row], field_changes: list[Row], flapping_entries: int
) -> RecordMarts:
    """Return what the record marts must hold, given the core models, spells and field changes."""
    changes: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for change in history.sync_changelog:
        if change["row_id"]:
            changes[change["sync_id"], change["row_id"]].append(change)
    spells: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for spell in memberships:
        spells[spell["sync_id"], spell["record_identifier"]].append(spell)
    changed_runs: dict[tuple[str, str], set[str]] = defaultdict(set)
    for field_change in field_changes:
        key = field_change["sync_id"], field_change["record_identifier"]
        changed_runs[key].add(field_change["sync_run_id"])
    messages = {row["log_id"]: row["status_message"] for row in history.sync_log}
    result = RecordMarts()
    for key, series in changes.items():
        result.failed_records += _failed_record(series, messages)
        attempts = [change for change in series if not change["is_inferred"]]
        result.record_activity.append(
            {
                **_attempted(attempts),
                **_entered(spells[key], flapping_entries),
                "n_changed_payloads": len(changed_runs[key]),
            }
        )
    return result


def _failed_record(changes: list[Row], messages: dict[str, str | None]) -> list[Row]:
    finals = [change for change in changes if change["is_final_attempt"]]
    last = finals[-1]
    if last["log_status"] not in _FAILING:
        return []
    succeeded = [place for place, change in enumerate(finals) if change["log_status"] == "succeeded"]
    failures = finals[succeeded[-1] + 1 :] if succeeded else finals
    return [
        {
            "source_system": "census_lake",
            "sync_id": last["sync_id"],
            "record_identifier": last["row_id"],
            "op_type": last["op_type"],
            "status": last["log_status"],
            "status_message": messages[last["log_id"]],
            "first_failed_at": failures[0]["occurred_at"],
            "n_failed_attempts": len(failures),
            "last_failed_at": last["occurred_at"],
            "last_succeeded_at": finals[succeeded[-1]]["occurred_at"] if succeeded else None,
            "record_payload": last["fields"],
        }
    ]


def _attempted(attempts: list[Row]) -> Row:
    last = [attempt for attempt in attempts if attempt["is_final_attempt"]][-1]
    statuses = [attempt["log_status"] for attempt in attempts]
    moments = [attempt["occurred_at"] for attempt in attempts]
    added = [
        attempt["occurred_at"]
        for attempt in attempts
        if attempt["op_type"] == "added" and attempt["log_status"] == "succeeded"
    ]
    return {
        "source_system": "census_lake",
        "sync_id": last["sync_id"],
        "record_identifier": last["row_id"],
        "first_added_at": min(added, default=None),
        "first_attempted_at": min(moments),
        "last_attempted_at": max(moments),
        "last_op_type": last["op_type"],
        "last_status": last["log_status"],
        "n_attempts": len(attempts),
        "n_succeeded": statuses.count("succeeded"),
        "n_failed": statuses.count("rejected") + statuses.count("invalid"),
    }


def _entered(spells: list[Row], flapping_entries: int) -> Row:
    n_entries = sum(1 for spell in spells if spell["entry_observed"])
    return {
        "n_entries": n_entries,
        "n_exits": sum(1 for spell in spells if not spell["is_current"]),
        "is_flapping": n_entries >= flapping_entries,
    }
