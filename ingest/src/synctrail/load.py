"""One load: discover, plan, read, stage, commit."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from synctrail import contract
from synctrail.ids import new_id
from synctrail.lake import Listing, list_lake
from synctrail.plan import Plan, PlannedFile, make_plan
from synctrail.privacy import NO_PRIVACY, Privacy, with_forgotten
from synctrail.progress import Reporter
from synctrail.read import Outcome, empty_file
from synctrail.selection import EVERYTHING, Selection
from synctrail.stage import (
    LOAD_SETTINGS,
    STAGE_SETTINGS,
    STAGED_TABLES,
    outcomes_in,
    rows_of,
    spark_settings,
    staged_table,
)
from synctrail.warehouses.base import FILES_SCHEMA, Commit, Warehouse


@dataclass(frozen=True)
class LoadResult:
    """A load's row of ``load_history``, and whether all files of the lake are loaded."""

    history: dict[str, Any]
    quarantined: list[Outcome]

    @property
    def is_complete(self) -> bool:
        """Whether no file that lies in the lake is quarantined, by this load or an earlier one."""
        return bool(self.history["status"] == contract.SUCCEEDED)


def load(
    spark: SparkSession,
    warehouse: Warehouse,
    lake: str,
    reporter: Reporter,
    *,
    selection: Selection = EVERYTHING,
    privacy: Privacy = NO_PRIVACY,
    planner: Callable[[pa.Table, pa.Table], Plan] = make_plan,
    wait_seconds: float = 0,
) -> LoadResult:
    """Bring what is new in a lake into a warehouse; all of it becomes visible at once, or nothing does.

    Args:
        spark: the session that reads the lake.
        warehouse: where the rows go.
        lake: the lake's root: a local path or a URI of any Hadoop filesystem.
        reporter: where to tell how it goes.
        selection: the part of the lake to load; what it leaves out, a later load finds as new as before.
        privacy: what becomes of payloads; whom the warehouse has forgotten is left out in any case.
        planner: takes from listing and ledger what is to be read.
        wait_seconds: how long to wait for another load to end before giving up.

    Raises:
        SynctrailError: the lake or the warehouse cannot be used. Spark's own errors pass through.

    """
    started_at = _now()
    load_id = new_id(started_at)
    with spark_settings(spark, LOAD_SETTINGS), warehouse.lock(wait_seconds):
        with reporter.working(f"listing {lake}", "listing", lake=lake):
            listing = list_lake(spark, lake, selection)
            plan = planner(selection.recent(listing.files), warehouse.ledger())
        outcomes: dict[str, Outcome] = {}
        if plan.files:
            size = {"files": len(plan.files), "bytes": plan.bytes_planned}
            megabytes = plan.bytes_planned / 1e6
            label = f"reading {len(plan.files):,} new files, {megabytes:,.1f} MB"
            with reporter.working(label, "reading", **size):
                rules = with_forgotten(privacy, warehouse.forgotten())
                outcomes = _stage(warehouse, load_id, listing, plan.files, rules)
                outcomes |= _unopened(spark, lake, selection, plan.files, outcomes)
        commit = _commit_of(load_id, lake, started_at, plan, outcomes)
        with reporter.working(f"committing to {warehouse.name}", "committing", warehouse=warehouse.name):
            history = warehouse.commit(commit)
    quarantined = [outcome for outcome in outcomes.values() if outcome.status == contract.QUARANTINED]
    if cut := warehouse.cut_texts:
        counts = ", ".join(f"{count:,} of {column}" for column, count in cut.items())
        reporter.warn(f"texts too long for {warehouse.name} were cut: {counts}", "cut", **cut)
    if vanished := len(plan.files) - len(outcomes):
        message = f"{vanished:,} files vanished from the lake between listing and reading"
        reporter.warn(message, "vanished", files=vanished)
    return LoadResult(history, quarantined)


def _stage(
    warehouse: Warehouse, load_id: str, listing: Listing, files: list[PlannedFile], privacy: Privacy
) -> dict[str, Outcome]:
    outcomes = {file.path: empty_file(file.path) for file in files if not file.size_bytes}
    for table in STAGED_TABLES:
        chosen = [file for file in files if file.size_bytes and staged_table(file.told.kind) is table]
        if chosen:
            with spark_settings(listing.source.sparkSession, STAGE_SETTINGS):
                staged = warehouse.stage(load_id, table, rows_of(listing, chosen, table, privacy))
            outcomes |= {outcome.path: outcome for outcome in outcomes_in(staged)}
    return outcomes


def _unopened(
    spark: SparkSession,
    lake: str,
    selection: Selection,
    files: list[PlannedFile],
    outcomes: dict[str, Outcome],
) -> dict[str, Outcome]:
    """Return an outcome for files that Spark passed over though they are still there.

    Hadoop says "not found" of a local file that may not be opened, too. A right that is given later leaves
    the file's time as it was, by which the next load knows the file: hence the advice to retry.
    """
    missing = {file.path: file for file in files if file.path not in outcomes}
    if not missing:
        return {}
    still_there = set(list_lake(spark, lake, selection).files.column("path").to_pylist())
    detail = "the file is listed, but cannot be opened; make it readable, then run: synctrail retry"
    return {
        path: Outcome(path, contract.QUARANTINED, file.told.kind, contract.UNREADABLE, detail)
        for path, file in missing.items()
        if path in still_there
    }


def _commit_of(
    load_id: str, lake: str, started_at: dt.datetime, plan: Plan, outcomes: dict[str, Outcome]
) -> Commit:
    files = _ledger_rows(plan.files, outcomes, load_id)
    loaded = [outcome for outcome in outcomes.values() if outcome.status == contract.LOADED]
    quarantined = len(outcomes) - len(loaded)
    all_loaded = quarantined == 0 and plan.known_quarantined == 0
    history = {
        "load_id": load_id,
        "lake": lake,
        "started_at": started_at,
        "files_seen": plan.files_seen,
        "files_loaded": len(loaded),
        "files_quarantined": quarantined,
        "rows_loaded": sum(outcome.row_count or 0 for outcome in loaded if outcome.kind == contract.RECORDS),
        "bytes_read": sum(file.size_bytes for file in plan.files if file.path in outcomes),
        "status": contract.SUCCEEDED if all_loaded else contract.SUCCEEDED_WITH_QUARANTINE,
    }
    return Commit(load_id, files, history)


def _ledger_rows(files: Iterable[PlannedFile], outcomes: dict[str, Outcome], load_id: str) -> pa.Table:
    loaded_at = _now()
    rows = [
        {
            **file.told._asdict(),
            "path": file.path,
            "size_bytes": file.size_bytes,
            "modified_at": file.modified_at_us,
            "kind": outcome.kind,
            "status": outcome.status,
            "reason": outcome.reason,
            "detail": outcome.detail,
            "row_count": outcome.row_count,
            "load_id": load_id,
            "loaded_at": loaded_at,
            "file_key": file.key,
        }
        for file in files
        if (outcome := outcomes.get(file.path)) is not None
    ]
    return pa.Table.from_pylist(rows, FILES_SCHEMA)


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)
