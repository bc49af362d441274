"""Retention on purpose: rows of old runs leave staging, and do not come back."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from synctrail import contract
from synctrail.ids import new_id
from synctrail.selection import EVERYTHING, Selection, newest_of_runs, run_folders
from synctrail.warehouses.base import Warehouse


@dataclass(frozen=True)
class Pruning:
    """What is pruned, or would be: one row per sync, and whether it was done."""

    syncs: list[dict[str, Any]]
    is_done: bool

    @property
    def totals(self) -> dict[str, int]:
        """Return how many runs, files and rows there are in all."""
        return {name: sum(sync[name] for sync in self.syncs) for name in ("runs", "files", "rows")}


def prune(
    warehouse: Warehouse,
    before: dt.datetime,
    *,
    selection: Selection = EVERYTHING,
    is_meant: bool = False,
    wait_seconds: float = 0,
) -> Pruning:
    """Delete the rows of runs whose newest record file was modified before a moment.

    Their files stay in the ledger, as ``pruned``: a load knows them, and takes them only if they change. Run
    metadata and fact tables stay, and so does all that dbt has built.

    Args:
        warehouse: where the staging tables are.
        before: the moment, in UTC.
        selection: the organizations and syncs that it is about.
        is_meant: delete them; else only tell what would be deleted.
        wait_seconds: how long to wait for a load to end before giving up.

    Raises:
        SynctrailError: the warehouse cannot be used, or a load is running. Spark's own errors pass through.

    """
    if not is_meant:
        return Pruning(_by_sync(_old_files(warehouse.files(), before, selection)), is_done=False)
    with warehouse.lock(wait_seconds):
        old = _old_files(warehouse.files(), before, selection)
        if old.num_rows:
            warehouse.prune(_as_pruned(old))
    return Pruning(_by_sync(old), is_done=True)


def _old_files(ledger: pa.Table, before: dt.datetime, selection: Selection) -> pa.Table:
    """Return the ledger rows of loaded record files of old runs."""
    loaded = ledger.filter(
        pc.and_(
            pc.equal(ledger.column("kind"), contract.RECORDS),
            pc.equal(ledger.column("status"), contract.LOADED),
        )
    )
    for column, ids in (("org_id", selection.orgs), ("sync_id", selection.syncs)):
        if ids:
            loaded = loaded.filter(pc.is_in(loaded.column(column), value_set=pa.array(sorted(ids))))
    runs = run_folders(loaded.column("path"))
    newest = newest_of_runs(runs, loaded.column("modified_at"))
    moment = pa.scalar(before, ledger.schema.field("modified_at").type)
    old = newest.filter(pc.less(newest.column("newest_at"), moment)).column("run")
    return loaded.filter(pc.is_in(runs, value_set=old))


def _as_pruned(files: pa.Table) -> pa.Table:
    """Return ledger rows as those of files that were pruned now."""
    now = dt.datetime.now(dt.UTC)
    changed = {"status": contract.PRUNED, "load_id": new_id(now), "loaded_at": now}
    for name, value in changed.items():
        position = files.schema.get_field_index(name)
        field = files.schema.field(position)
        files = files.set_column(position, field, pa.repeat(pa.scalar(value, field.type), files.num_rows))
    return files


def _by_sync(files: pa.Table) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for file in files.select(["org_id", "sync_id", "sync_run_id", "row_count"]).to_pylist():
        groups[file["org_id"], file["sync_id"]].append(file)
    return [
        {
            "org_id": org_id,
            "sync_id": sync_id,
            "runs": len({file["sync_run_id"] for file in group}),
            "files": len(group),
            "rows": sum(file["row_count"] or 0 for file in group),
        }
        for (org_id, sync_id), group in sorted(groups.items())
    ]
