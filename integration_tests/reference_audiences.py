"""The rules of the audience marts, told once more in plain Python, for tests to compare the SQL with."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta

from reference_core import Core, Row

_SETTLED = {"succeeded", "rejected", "aborted"}
_AUDIENCE_TYPES = {"DataWarehouse::FilterSegmentSource": "segment"}


@dataclass
class AudienceMarts:
    """The rows of the audience marts, by model."""

    audience_memberships: list[Row] = field(default_factory=list)
    audience_events: list[Row] = field(default_factory=list)
    audience_daily: list[Row] = field(default_factory=list)


@dataclass
class _Audience:
    sync_id: str
    name: str
    kind: str | None
    destination: str | None


def audience_marts(history: Core, tables: dict[str, list[Row]]) -> AudienceMarts:
    """Return what the audience marts must hold, given the core models and the staging tables below them."""
    result = AudienceMarts()
    for audience in _audiences(history, tables):
        changes = [row for row in history.sync_changelog if row["sync_id"] == audience.sync_id]
        by_record: dict[str, list[Row]] = defaultdict(list)
        for change in changes:
            if change["is_final_attempt"] and change["kind"] != "append" and change["log_status"] in _SETTLED:
                by_record[change["row_id"]].append(change)
        spells = [spell for attempts in by_record.values() for spell in _spells(attempts)]
        result.audience_memberships += [_membership(audience, spell) for spell in spells]
        result.audience_events += [event for spell in spells for event in _events(audience, spell)]
        result.audience_daily += _daily(audience, _dates(history, audience.sync_id, changes), spells)
    return result


def _audiences(history: Core, tables: dict[str, list[Row]]) -> list[_Audience]:
    told = [row for row in tables["sync_tracking_runs"] if row["metadata"]]
    metadata = {(row["sync_id"], row["sync_run_id"]): row for row in told}
    runs: dict[str, list[Row]] = defaultdict(list)
    for run in history.sync_runs:
        runs[run["sync_id"]].append(run)
    audiences = []
    for sync_id, series in runs.items():
        telling = ([run for run in series if (sync_id, run["sync_run_id"]) in metadata] or series)[-1]
        source_type = metadata.get((sync_id, telling["sync_run_id"]), {}).get("source_type")
        kind = _AUDIENCE_TYPES.get(str(source_type))
        audiences.append(_Audience(sync_id, telling["model_name"] or sync_id, kind, telling["destination"]))
    return audiences


def _spells(attempts: list[Row]) -> list[Row]:
    """Return a record's spells, given its settled final attempts in run order."""
    spells: list[Row] = []
    is_in = False
    for attempt in attempts:
        if attempt["kind"] == "upsert":
            if not is_in:
                spells.append(_begun(attempt, len(spells) + 1))
            if attempt["log_status"] == "succeeded":
                spells[-1]["reached"] = spells[-1]["reached"] or attempt
            is_in = True
        else:
            if not spells:
                spells.append(_begun(None, 1))
                is_in = True
            if is_in:
                spells[-1]["exit"] = attempt
            if attempt["log_status"] == "succeeded":
                spells[-1]["left"] = spells[-1]["left"] or attempt
            is_in = False
    return spells


def _begun(entry: Row | None, number: int) -> Row:
    return {"number": number, "entry": entry, "exit": None, "reached": None, "left": None}


def _told(attempt: Row | None, column: str) -> object:
    return attempt[column] if attempt else None


def _membership(audience: _Audience, spell: Row) -> Row:
    return {
        "source_system": "census_lake",
        "sync_id": audience.sync_id,
        "audience_name": audience.name,
        "audience_type": audience.kind,
        "destination": audience.destination,
        "record_identifier": (spell["entry"] or spell["exit"])["row_id"],
        "spell_number": spell["number"],
        "entered_at": _told(spell["entry"], "occurred_at"),
        "entered_run_id": _told(spell["entry"], "sync_run_id"),
        "entry_observed": spell["entry"] is not None,
        "exited_at": _told(spell["exit"], "occurred_at"),
        "exited_run_id": _told(spell["exit"], "sync_run_id"),
        "is_current": spell["exit"] is None,
        "reached_destination_at": _told(spell["reached"], "occurred_at"),
        "left_destination_at": _told(spell["left"], "occurred_at"),
    }


def _events(audience: _Audience, spell: Row) -> list[Row]:
    return [
        {
            "source_system": "census_lake",
            "sync_id": audience.sync_id,
            "audience_name": audience.name,
            "audience_type": audience.kind,
            "record_identifier": attempt["row_id"],
            "spell_number": spell["number"],
            "event_type": event_type,
            "event_at": attempt["occurred_at"],
            "sync_run_id": attempt["sync_run_id"],
            "status": attempt["log_status"],
        }
        for event_type, attempt in (("entered", spell["entry"]), ("exited", spell["exit"]))
        if attempt
    ]


def _dates(history: Core, sync_id: str, changes: list[Row]) -> list[date]:
    starts = [run["started_at"] for run in history.sync_runs if run["sync_id"] == sync_id]
    moments = starts + [change["occurred_at"] for change in changes]
    active = {moment.date() for moment in moments if moment}
    if not active:
        return []
    first, last = min(active), max(active)
    return [first + timedelta(days=day) for day in range((last - first).days + 1)]


def _daily(audience: _Audience, dates: list[date], spells: list[Row]) -> list[Row]:
    lasting = [(_entered_on(spell, dates[0]), _exited_on(spell, dates[0])) for spell in spells]
    entered = Counter(_entered_on(spell, dates[0]) for spell in spells if spell["entry"])
    exited = Counter(exit_date for _, exit_date in lasting)
    return [
        {
            "source_system": "census_lake",
            "sync_id": audience.sync_id,
            "audience_name": audience.name,
            "date": day,
            "n_entered": entered[day],
            "n_exited": exited[day],
            "n_members": sum(1 for begin, end in lasting if begin <= day and not (end and end <= day)),
        }
        for day in dates
    ]


def _entered_on(spell: Row, first_date: date) -> date:
    moment: datetime | None = spell["entry"] and spell["entry"]["occurred_at"]
    return moment.date() if moment else first_date


def _exited_on(spell: Row, first_date: date) -> date | None:
    """Return the date of the exit; an inferred removal by a run without any time counts on the entry's."""
    if not spell["exit"]:
        return None
    moment: datetime | None = spell["exit"]["occurred_at"]
    return moment.date() if moment else _entered_on(spell, first_date)
