"""The definitions of the sync marts, told once more in plain Python, for tests to compare the SQL with."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

from reference_core import Core, Row
from reference_fields import json_object

_FULL_SYNC_MAY_NOT_USE = {"mirror", "append"}


@dataclass(frozen=True, kw_only=True)
class Thresholds:
    """What the variables of the sync marts are set to; the defaults are the package's."""

    as_of: datetime
    stale_factor: float = 3
    failed_records: float = 0.75
    runtime_seconds: float = 3600
    deviation: float = 0.5
    deviation_runs: int = 5
    full_sync_share: float = 0.99
    full_sync_members: int = 10

    def variables(self) -> dict[str, object]:
        """Return them as dbt variables."""
        return {
            "synctrail_as_of": self.as_of.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S"),
            "synctrail_stale_factor": self.stale_factor,
            "synctrail_alert_failed_records": self.failed_records,
            "synctrail_alert_runtime_seconds": self.runtime_seconds,
            "synctrail_alert_deviation": self.deviation,
            "synctrail_alert_deviation_runs": self.deviation_runs,
            "synctrail_alert_full_sync_share": self.full_sync_share,
            "synctrail_alert_full_sync_members": self.full_sync_members,
        }


@dataclass
class _RunFacts:
    run: Row
    attempts: list[Row]
    inferred_removals: int
    members_before: int
    members_attempted: int

    def planned(self) -> int:
        return len(self.attempts)

    def with_status(self, *statuses: str) -> int:
        return sum(1 for row in self.attempts if row["log_status"] in statuses)


@dataclass
class _Sync:
    sync_id: str
    name: str
    destination: str | None
    runs: list[_RunFacts] = field(default_factory=list)
    members: set[str] = field(default_factory=set)
    failing: set[str] = field(default_factory=set)


@dataclass
class SyncMarts:
    """The rows of the sync marts, by model."""

    sync_health: list[Row] = field(default_factory=list)
    sync_daily: list[Row] = field(default_factory=list)
    sync_alerts: list[Row] = field(default_factory=list)


def sync_marts(history: Core, tables: dict[str, list[Row]], thresholds: Thresholds) -> SyncMarts:
    """Return what the sync marts must hold, given the core models and the staging tables below them."""
    result = SyncMarts()
    for sync in _syncs(history, tables):
        health = _health(sync, thresholds)
        result.sync_health.append(health)
        result.sync_daily += _daily(sync)
        result.sync_alerts += _alerts(sync, health, thresholds)
    return result


def _syncs(history: Core, tables: dict[str, list[Row]]) -> list[_Sync]:
    changes: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for change in history.sync_changelog:
        changes[change["sync_id"], change["sync_run_id"]].append(change)
    told = {(row["sync_id"], row["sync_run_id"]) for row in tables["sync_tracking_runs"] if row["metadata"]}
    runs: dict[str, list[Row]] = defaultdict(list)
    for run in history.sync_runs:
        runs[run["sync_id"]].append(run)
    syncs = []
    for sync_id, series in runs.items():
        telling = ([run for run in series if (sync_id, run["sync_run_id"]) in told] or series)[-1]
        sync = _Sync(sync_id, telling["model_name"] or sync_id, telling["destination"])
        for run in series:
            sync.runs.append(_replay(sync, run, changes[sync_id, run["sync_run_id"]]))
        syncs.append(sync)
    return syncs


def _replay(sync: _Sync, run: Row, changes: list[Row]) -> _RunFacts:
    members = sync.members
    attempts = [change for change in changes if not change["is_inferred"]]
    attempted = {row["row_id"] for row in attempts}
    facts = _RunFacts(run, attempts, len(changes) - len(attempts), len(members), len(members & attempted))
    for change in changes:
        if change["is_final_attempt"] and change["log_status"] == "succeeded" and change["kind"] != "append":
            (members.add if change["kind"] == "upsert" else members.discard)(change["row_id"])
        if change["is_final_attempt"]:
            is_failing = change["log_status"] in ("rejected", "invalid", "aborted")
            (sync.failing.add if is_failing else sync.failing.discard)(change["row_id"])
    return facts


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _percentile(values: list[float], percent: float) -> float | None:
    if not values:
        return None
    ordered = sorted(values)
    place = percent * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _health(sync: _Sync, thresholds: Thresholds) -> Row:
    runs = sync.runs
    failed = [facts.run["status"] == "failed" for facts in runs]
    starts = [facts.run["started_at"] for facts in runs if facts.run["started_at"]]
    intervals = [(after - before).total_seconds() for before, after in itertools.pairwise(starts)]
    timed = [facts for facts in runs if facts.run["duration_seconds"] is not None]
    durations = [facts.run["duration_seconds"] for facts in timed]
    attempted = sum(facts.with_status("succeeded", "rejected") for facts in runs)
    median = statistics.median(intervals) if intervals else None
    idle = (thresholds.as_of - starts[-1]).total_seconds() if starts else None
    return {
        "source_system": "census_lake",
        "sync_id": sync.sync_id,
        "audience_name": sync.name,
        "destination": sync.destination,
        "n_runs": len(runs),
        "n_failed_runs": sum(failed),
        "consecutive_failed_runs": len(failed) if all(failed) else failed[::-1].index(False),
        "first_run_at": starts[0] if starts else None,
        "last_run_at": starts[-1] if starts else None,
        "last_succeeded_run_at": max(
            (
                facts.run["started_at"]
                for facts in runs
                if facts.run["status"] == "succeeded" and facts.run["started_at"]
            ),
            default=None,
        ),
        "success_rate": _share(sum(facts.with_status("succeeded") for facts in runs), attempted),
        "invalid_rate": _share(
            sum(facts.with_status("invalid") for facts in runs), sum(facts.planned() for facts in runs)
        ),
        "avg_duration_seconds": statistics.fmean(durations) if durations else None,
        "p95_duration_seconds": _percentile(durations, 0.95),
        "records_per_second": (
            sum(facts.with_status("succeeded", "rejected") for facts in timed) / sum(durations)
            if sum(durations) > 0
            else None
        ),
        "n_current_members": len(sync.members),
        "n_open_failed_records": len(sync.failing),
        "n_unparseable_payloads": sum(
            1
            for facts in runs
            for row in facts.attempts
            if row["fields"] is not None and json_object(row["fields"]) is None
        ),
        "median_run_interval_seconds": median,
        "seconds_since_last_run": idle,
        "is_stale": (
            len(runs) >= 3
            and idle is not None
            and median is not None
            and idle > thresholds.stale_factor * median
        ),
    }


def _daily(sync: _Sync) -> list[Row]:
    counts: dict[date, Counter[str]] = defaultdict(Counter)
    for facts in sync.runs:
        if facts.run["started_at"]:
            started_on = facts.run["started_at"].date()
            counts[started_on]["n_runs"] += 1
            counts[started_on]["n_inferred_removals"] += facts.inferred_removals
        for attempt in facts.attempts:
            if attempt["occurred_at"]:
                count = counts[attempt["occurred_at"].date()]
                count["n_attempts"] += 1
                count[f"n_{attempt['log_status']}"] += 1
                count[f"n_{attempt['op_type']}"] += 1
    if not counts:
        return []
    first, last = min(counts), max(counts)
    columns = ["n_runs", "n_attempts", "n_succeeded", "n_rejected", "n_invalid", "n_inferred_removals"]
    columns += ["n_added", "n_changed", "n_removed"]
    return [
        {
            "source_system": "census_lake",
            "sync_id": sync.sync_id,
            "date": day,
            **{column: counts[day][column] for column in columns},
        }
        for day in (first + timedelta(days=offset) for offset in range((last - first).days + 1))
    ]


def _alerts(sync: _Sync, health: Row, thresholds: Thresholds) -> list[Row]:
    uses = {row["operation"] for facts in sync.runs for row in facts.attempts}
    judges: dict[str, tuple[float, Callable[[int], float | None]]] = {
        "failed_sync": (0, lambda place: 1 if sync.runs[place].run["status"] == "failed" else None),
        "failed_records": (
            thresholds.failed_records,
            lambda place: _failed_share(sync.runs[place], thresholds),
        ),
        "sync_runtime": (thresholds.runtime_seconds, lambda place: _runtime(sync.runs[place], thresholds)),
        "record_count_deviation": (
            thresholds.deviation,
            lambda place: _deviation(sync.runs, place, thresholds),
        ),
        "full_sync": (
            thresholds.full_sync_share,
            lambda place: (
                None if uses & _FULL_SYNC_MAY_NOT_USE else _resent_share(sync.runs[place], thresholds)
            ),
        ),
    }
    alerts = []
    for alert_type, (threshold, violation) in judges.items():
        open_alert: Row | None = None
        for place, facts in enumerate(sync.runs):
            observed = violation(place)
            if observed is None:
                if open_alert:
                    open_alert |= {
                        "resolved_run_id": facts.run["sync_run_id"],
                        "resolved_at": facts.run["started_at"],
                        "is_open": False,
                    }
                open_alert = None
            elif open_alert is None:
                opening = facts.run
                open_alert = _alert(
                    sync, alert_type, opening, opening["started_at"], observed=observed, threshold=threshold
                )
                alerts.append(open_alert)
    if health["is_stale"]:
        limit = thresholds.stale_factor * health["median_run_interval_seconds"]
        opened_at = health["last_run_at"] + timedelta(seconds=limit)
        idle = health["seconds_since_last_run"]
        alerts.append(
            _alert(sync, "stale_sync", sync.runs[-1].run, opened_at, observed=idle, threshold=limit)
        )
    return alerts


def _alert(
    sync: _Sync, alert_type: str, run: Row, opened_at: datetime | None, *, observed: float, threshold: float
) -> Row:
    return {
        "source_system": "census_lake",
        "sync_id": sync.sync_id,
        "audience_name": sync.name,
        "alert_type": alert_type,
        "opened_run_id": run["sync_run_id"],
        "opened_at": opened_at,
        "resolved_run_id": None,
        "resolved_at": None,
        "is_open": True,
        "observed_value": observed,
        "threshold": threshold,
    }


def _failed_share(facts: _RunFacts, thresholds: Thresholds) -> float | None:
    share = _share(facts.with_status("rejected", "invalid"), facts.planned())
    return share if share is not None and share > thresholds.failed_records else None


def _runtime(facts: _RunFacts, thresholds: Thresholds) -> float | None:
    seconds: float | None = facts.run["duration_seconds"]
    return seconds if seconds is not None and seconds > thresholds.runtime_seconds else None


def _deviation(runs: list[_RunFacts], place: int, thresholds: Thresholds) -> float | None:
    before = [facts.planned() for facts in runs[max(0, place - thresholds.deviation_runs) : place]]
    if place < 3 or not sum(before):
        return None
    deviation = abs(runs[place].planned() * len(before) - sum(before)) / sum(before)
    return deviation if deviation > thresholds.deviation else None


def _resent_share(facts: _RunFacts, thresholds: Thresholds) -> float | None:
    if facts.members_before < thresholds.full_sync_members:
        return None
    share = facts.members_attempted / facts.members_before
    return share if share >= thresholds.full_sync_share else None
