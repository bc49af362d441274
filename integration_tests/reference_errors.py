"""The rules of the error marts, told once more in plain Python, for tests to compare the SQL with."""

from __future__ import annotations

import csv
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from statistics import median

from reference_core import Core, Row

SEED = Path(__file__).parents[1] / "seeds" / "error_category_rules.csv"
_ERRORS = {"rejected", "invalid"}
_FAILING = {"rejected", "invalid", "aborted"}


@dataclass
class ErrorMarts:
    """The rows of the error marts, by model."""

    record_errors: list[Row] = field(default_factory=list)
    error_summary: list[Row] = field(default_factory=list)
    error_daily: list[Row] = field(default_factory=list)


@dataclass(frozen=True)
class Rule:
    """One rule of a seed of rules; an empty destination is any. The package's own read a message's words."""

    destination: str
    pattern: str
    category: str
    is_retryable: bool
    reads_words: bool

    def matches(self, message: str, destination: str | None) -> bool:
        """Return whether the rule holds for a destination's message."""
        holds = not self.destination or _name_key(self.destination) in _name_key(destination or "")
        text = words(message[:4000]) if self.reads_words else message[:4000].lower()
        return holds and re.search(self.pattern.lower(), text) is not None


def words(text: str) -> str:
    """Return a text in lower case with the words of CamelCase, snake_case and kebab-case apart."""
    apart = re.sub("([a-z])([A-Z])", r"\1 \2", text)
    apart = re.sub("([A-Z][A-Z])([A-Z][a-z][a-z])", r"\1 \2", apart)
    return re.sub("[ _-]+", " ", apart).lower()


def read_rules(*seeds: Path) -> list[Rule]:
    """Return the rules of seeds in the order in which they are tried: seed after seed, each by priority."""
    rules = []
    for seed in seeds:
        with seed.open(encoding="utf-8", newline="") as file:
            rows = sorted(csv.DictReader(file), key=lambda row: int(row["priority"]))
        rules += [
            Rule(
                row["destination"],
                row["pattern"],
                row["category"],
                row["is_retryable"] == "true",
                seed == SEED,
            )
            for row in rows
        ]
    return rules


def _name_key(name: str) -> str:
    return re.sub("[^a-z0-9]+", "", name.lower())


def error_marts(history: Core, rules: list[Rule], templates: Mapping[str, str]) -> ErrorMarts:
    """Return what the error marts must hold, given the core models, the rules and each message's template.

    A message that is not among the templates is its own template.
    """
    destinations = {_run(row): row["destination"] for row in history.sync_runs}
    log = {row["log_id"]: row for row in history.sync_log}
    errors = []
    for series in _by_record(history.sync_changelog):
        for place, change in enumerate(series):
            if change["log_status"] in _ERRORS:
                error = _error(change, log[change["log_id"]], destinations[_run(change)], rules, templates)
                errors.append({**error, "resolved_at": _next_success(series[place + 1 :])})
    public = [{name: value for name, value in row.items() if name != "message"} for row in errors]
    return ErrorMarts(public, _summary(errors, history), _daily(errors))


def _run(row: Row) -> tuple[str, str]:
    return row["sync_id"], row["sync_run_id"]


def _by_record(changes: Iterable[Row]) -> list[list[Row]]:
    """Return the attempts of each record, in order; one without identifier is alone."""
    records: dict[object, list[Row]] = defaultdict(list)
    for change in changes:
        if not change["is_inferred"]:
            records[(change["sync_id"], change["row_id"]) if change["row_id"] else change["log_id"]].append(
                change
            )
    return list(records.values())


def _next_success(later: list[Row]) -> datetime | None:
    return next((change["occurred_at"] for change in later if change["log_status"] == "succeeded"), None)


def _error(
    change: Row, logged: Row, destination: str | None, rules: list[Rule], templates: Mapping[str, str]
) -> Row:
    message = change["failure_reason"]
    judged = message or "No message"
    rule = next((rule for rule in rules if rule.matches(judged, destination)), None)
    return {
        "source_system": "census_lake",
        "sync_id": change["sync_id"],
        "sync_run_id": change["sync_run_id"],
        "log_id": change["log_id"],
        "record_identifier": change["row_id"],
        "status": change["log_status"],
        "invalid_reason": logged["invalid_reason"],
        "status_message": logged["status_message"],
        "message": message,
        "error_template": templates.get(judged, judged),
        "category": rule.category if rule else "uncategorized",
        "is_retryable": rule.is_retryable if rule else False,
        "occurred_at": change["occurred_at"],
        "destination": destination,
    }


def _summary(errors: list[Row], history: Core) -> list[Row]:
    by_sync_error: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for error in errors:
        by_sync_error[error["sync_id"], error["error_template"]].append(error)
    n_sync_errors = Counter(error["sync_id"] for error in errors)
    still_failing = _last_failing_attempts(history)
    rows = [
        {**_summary_row(group, still_failing), "share_of_sync_errors": len(group) / n_sync_errors[sync_id]}
        for (sync_id, _), group in by_sync_error.items()
    ]
    for row in rows:
        more_overall = {other["n_records"] for other in rows if other["n_records"] > row["n_records"]}
        in_sync = [other for other in rows if other["sync_id"] == row["sync_id"]]
        more_in_sync = {other["n_records"] for other in in_sync if other["n_records"] > row["n_records"]}
        row |= {"rank_overall": len(more_overall) + 1, "rank_in_sync": len(more_in_sync) + 1}
    return rows


def _last_failing_attempts(history: Core) -> set[str]:
    """Return the log_ids of the last final attempts of the records that fail now."""
    last = {(row["sync_id"], row["row_id"]): row for row in history.sync_changelog if row["is_final_attempt"]}
    return {row["log_id"] for row in last.values() if row["log_status"] in _FAILING}


def _summary_row(errors: list[Row], still_failing: set[str]) -> Row:
    judgements = Counter((error["category"], error["is_retryable"]) for error in errors)
    category, is_retryable = min(judgements, key=lambda judgement: (-judgements[judgement], judgement))
    fitting = [
        error for error in errors if (error["category"], error["is_retryable"]) == (category, is_retryable)
    ]
    latest = max(error["occurred_at"] for error in fitting)
    example = min(
        (error for error in fitting if error["occurred_at"] == latest), key=lambda error: error["log_id"]
    )
    records: dict[str, list[Row]] = defaultdict(list)
    for error in errors:
        if error["record_identifier"]:
            records[error["record_identifier"]].append(error)
    seconds = [
        (error["resolved_at"] - error["occurred_at"]).total_seconds()
        for error in errors
        if error["resolved_at"]
    ]
    return {
        "source_system": "census_lake",
        "sync_id": example["sync_id"],
        "category": category,
        "is_retryable": is_retryable,
        "error_template": example["error_template"],
        "example_message": example["message"],
        "example_record_identifier": example["record_identifier"],
        "n_errors": len(errors),
        "n_records": len(records),
        "n_runs": len({error["sync_run_id"] for error in errors}),
        "n_open_records": sum(1 for error in errors if error["log_id"] in still_failing),
        "n_resolved_records": sum(
            1 for of_record in records.values() if all(error["resolved_at"] for error in of_record)
        ),
        "median_seconds_to_resolve": median(seconds) if seconds else None,
        "first_seen_at": min(error["occurred_at"] for error in errors),
        "last_seen_at": max(error["occurred_at"] for error in errors),
    }


def _daily(errors: list[Row]) -> list[Row]:
    days: dict[tuple[object, ...], list[Row]] = defaultdict(list)
    for error in errors:
        days[error["sync_id"], error["occurred_at"].date(), error["category"]].append(error)
    return [
        {
            "source_system": "census_lake",
            "sync_id": sync_id,
            "date": day,
            "category": category,
            "n_errors": len(group),
            "n_records": len({error["record_identifier"] for error in group if error["record_identifier"]}),
        }
        for (sync_id, day, category), group in days.items()
    ]
