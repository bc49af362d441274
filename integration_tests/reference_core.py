"""The rules of the core models, told once more in plain Python, for tests to compare the SQL with.

It reads as the rules do: runs in order, one state per record, no windows and no increments.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

REMOVALS = {"delete", "deleted", "remove", "removed"}
Row = dict[str, Any]
RunKey = tuple[str, str]  # sync_id, sync_run_id


def _status(raw: str | None) -> str:
    word = "null" if raw is None else raw.strip().lower()
    if word in ("null", "duplicate"):
        return "invalid"
    return word if word in ("succeeded", "rejected") else "unknown"


def _invalid_reason(raw: str | None) -> str | None:
    word = "null" if raw is None else raw.strip().lower()
    return {"null": "null_identifier", "duplicate": "duplicate_identifier"}.get(word)


def _kind(operation: str | None) -> str:
    if operation in REMOVALS:
        return "removal"
    return "append" if operation == "append" else "upsert"


def _nulls_first(value: Any) -> tuple[bool, Any]:
    return (value is not None, value if value is not None else 0)


def _attempt_order(row: Row) -> tuple[Any, ...]:
    columns = (
        "batch_started_at",
        "batch_completed_at",
        "batch_number",
        "_source_file",
        "_source_row",
        "log_id",
    )
    return tuple(_nulls_first(row[column]) for column in columns)


@dataclass
class Core:
    """The rows of the core models, by model, that the staging rows come to."""

    sync_log: list[Row] = field(default_factory=list)
    sync_runs: list[Row] = field(default_factory=list)
    sync_changelog: list[Row] = field(default_factory=list)
    sync_snapshot: list[Row] = field(default_factory=list)


def core(tables: dict[str, list[Row]]) -> Core:
    """Return what the core models must hold, given the rows of the staging tables."""
    rows = [_canonical(row) for row in _of_newest_files(tables["sync_tracking_records"])]
    metadata = {(row["sync_id"], row["sync_run_id"]): row for row in tables["sync_tracking_runs"]}
    by_run: dict[RunKey, list[Row]] = defaultdict(list)
    for row in rows:
        by_run[row["sync_id"], row["sync_run_id"]].append(row)
    runs_of: dict[str, list[RunKey]] = defaultdict(list)
    for key in {*metadata, *by_run}:
        runs_of[key[0]].append(key)

    result = Core()
    for keys in runs_of.values():
        started = {key: _started_at(metadata.get(key), by_run[key]) for key in keys}
        keys.sort(key=lambda key: (_nulls_first(started[key]), len(key[1]), key[1]))
        _replay(result, keys, started, by_run, metadata, tables)
    return result


def _of_newest_files(rows: list[Row]) -> list[Row]:
    """Return one row for each log_id: that of the newest file that holds it."""
    newest_last = sorted(rows, key=lambda row: row["_file_modified_at"])
    return list({row["log_id"]: row for row in newest_last}.values())


def _canonical(row: Row) -> Row:
    operation = None if row["operation"] is None else row["operation"].strip().lower()
    return {
        **row,
        "operation": operation,
        "kind": _kind(operation),
        "status": _status(row["status"]),
        "invalid_reason": _invalid_reason(row["status"]),
        "_census_logged_at": row["_file_modified_at"],
    }


def _started_at(metadata: Row | None, rows: list[Row]) -> datetime | None:
    if metadata and metadata["sync_run_started_at"]:
        declared: datetime = metadata["sync_run_started_at"]
        return declared
    return min((row["batch_started_at"] for row in rows if row["batch_started_at"]), default=None)


def _replay(
    result: Core,
    keys: list[RunKey],
    started: dict[RunKey, datetime | None],
    by_run: dict[RunKey, list[Row]],
    metadata: dict[RunKey, Row],
    tables: dict[str, list[Row]],
) -> None:
    members: set[str] = set()
    finals: dict[str, list[Row]] = defaultdict(list)
    for key in keys:
        start, run = started[key], metadata.get(key) or {}
        attempts = sorted(by_run[key], key=_attempt_order)
        by_record: dict[str, list[Row]] = defaultdict(list)
        for row in attempts:
            if row["record_identifier"]:
                by_record[row["record_identifier"]].append(row)
        final = {identifier: _final(rows) for identifier, rows in by_record.items()}
        changes = [_change(row, start, members, final) for row in attempts]
        is_mirror_run = any(row["operation"] == "mirror" and row["status"] == "succeeded" for row in attempts)
        removed = sorted(members - set(by_record)) if is_mirror_run else []
        changes += [_inferred_removal(key, start, identifier) for identifier in removed]
        members -= set(removed)
        for identifier, row in final.items():
            if row["status"] == "succeeded" and row["kind"] != "append":
                (members.add if row["kind"] == "upsert" else members.discard)(identifier)
        for change in changes:
            if (
                change["is_final_attempt"]
                and change["kind"] != "append"
                and change["log_status"] in ("succeeded", "rejected", "aborted")
            ):
                finals[change["row_id"]].append(change)
        result.sync_changelog += changes
        result.sync_log += [_log_row(row, start, run) for row in attempts]
        result.sync_runs.append(_run_row(key, start, attempts, changes, run, tables))
    latest_run_id = keys[-1][1]
    for identifier, series in finals.items():
        last = series[-1]
        if last["kind"] != "removal":
            result.sync_snapshot.append(
                {
                    **{name: last[name] for name in _SNAPSHOT_COLUMNS},
                    "op_type": last["op_type"] if last["sync_run_id"] == latest_run_id else "unchanged",
                    "last_attempted_at": last["occurred_at"],
                    "in_destination": identifier in members,
                }
            )


_SNAPSHOT_COLUMNS = (
    "sync_id", "row_id", "status", "failure_reason", "failed_reason", "fields", "split_group",
    "source_system", "sync_run_id",
)  # fmt: skip


def _final(rows: list[Row]) -> Row:
    attempted = [row for row in rows if row["status"] in ("succeeded", "rejected")]
    return (attempted or rows)[-1]


def _change(row: Row, start: datetime | None, members: set[str], final: dict[str, Row]) -> Row:
    identifier = row["record_identifier"]
    if row["kind"] == "removal":
        op_type = "removed"
    elif row["kind"] == "append" or not identifier or identifier not in members:
        op_type = "added"
    else:
        op_type = "changed"
    reasons = {"null_identifier": "Null identifier", "duplicate_identifier": "Duplicate identifier"}
    reason = row["status_message"] or reasons.get(row["invalid_reason"])
    return {
        "sync_id": row["sync_id"],
        "sync_run_id": row["sync_run_id"],
        "op_type": op_type,
        "row_id": identifier,
        "status": "failed" if row["status"] in ("rejected", "invalid") else row["status"],
        "failure_reason": reason,
        "failed_reason": reason,
        "fields": row["record_payload"],
        "split_group": None,
        "source_system": "census_lake",
        "log_id": row["log_id"],
        "operation": row["operation"],
        "occurred_at": row["batch_started_at"] or start or row["_census_logged_at"],
        "started_at": start,
        "is_final_attempt": bool(identifier) and final[identifier] is row,
        "is_inferred": False,
        "kind": row["kind"],
        "log_status": row["status"],
    }


def _inferred_removal(key: tuple[str, str], start: datetime | None, identifier: str) -> Row:
    return {
        "sync_id": key[0],
        "sync_run_id": key[1],
        "op_type": "removed",
        "row_id": identifier,
        "status": "succeeded",
        "failure_reason": None,
        "failed_reason": None,
        "fields": None,
        "split_group": None,
        "source_system": "census_lake",
        "log_id": None,
        "operation": "delete",
        "occurred_at": start,
        "started_at": start,
        "is_final_attempt": True,
        "is_inferred": True,
        "kind": "removal",
        "log_status": "succeeded",
    }


_LOG_COLUMNS = (
    "log_id", "sync_id", "sync_run_id", "record_identifier", "record_payload", "batch_started_at",
    "batch_completed_at", "operation", "status", "status_message", "_census_logged_at", "org_id",
    "invalid_reason",
)  # fmt: skip
_RUN_IDS = ("destination_id", "destination_object_id", "source_id", "source_object_id", "workspace_id")


def _log_row(row: Row, start: datetime | None, run: Row) -> Row:
    return {
        **{name: row[name] for name in _LOG_COLUMNS},
        **{name: run.get(name) for name in _RUN_IDS},
        "source_system": "census_lake",
        "occurred_at": row["batch_started_at"] or start or row["_census_logged_at"],
        "split_group": None,
        "payload_kind": "source",
    }


def _run_row(key: tuple[str, str], start: datetime | None, attempts: list[Row], changes: list[Row], run: Row,
             tables: Row) -> Row:  # fmt: skip
    logged = [change for change in changes if not change["is_inferred"]]
    outcomes: dict[str, Callable[[Row], bool]] = {
        "planned": lambda _: True,
        "attempted": lambda change: change["log_status"] in ("succeeded", "rejected"),
        "succeeded": lambda change: change["log_status"] == "succeeded",
        "failed": lambda change: change["log_status"] == "rejected",
    }
    counts = {
        f"num_{outcome}_{noun}": sum(
            1 for change in logged if change["op_type"] == op_type and counts_as(change)
        )
        for outcome, counts_as in outcomes.items()
        for noun, op_type in (("add", "added"), ("change", "changed"), ("remove", "removed"))
    }
    finished = max((row["batch_completed_at"] for row in attempts if row["batch_completed_at"]), default=None)
    names = {row["id"]: row["name"] for row in tables["source_objects"]}
    kind = run.get("destination_type")
    org_ids = [row["org_id"] for row in attempts] + [run.get("org_id")]
    return {
        "sync_id": key[0],
        "sync_run_id": key[1],
        "primary_key": None,
        "destination": kind.split("::")[0] if kind else None,
        "model_name": names.get(run.get("source_object_id")),
        "model_id": run.get("source_object_id"),
        "status": "failed"
        if attempts and not any(row["status"] == "succeeded" for row in attempts)
        else "succeeded",
        "error": None,
        "started_at": start,
        "finished_at": finished,
        **counts,
        "source_system": "census_lake",
        "org_id": next(value for value in org_ids if value),
        "num_invalid": sum(1 for change in logged if change["log_status"] == "invalid"),
        "num_inferred_remove": sum(1 for change in changes if change["is_inferred"]),
        "duration_seconds": (finished - start).total_seconds() if finished and start else None,
        **{name: run.get(name) for name in _RUN_IDS},
    }
