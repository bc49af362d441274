"""How far staging is behind the lake, sync by sync."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from synctrail import contract
from synctrail.lake import parse_path
from synctrail.plan import Plan

_OF_RUNS = (contract.RECORDS, contract.RUN_METADATA)


@dataclass
class _Sync:
    in_lake: list[dt.datetime] = field(default_factory=list)
    loaded: list[dt.datetime] = field(default_factory=list)
    waiting: list[int] = field(default_factory=list)


def lag_by_sync(listing: pa.Table, ledger: pa.Table, plan: Plan) -> list[dict[str, Any]]:
    """Compare a lake's listing with the ledger.

    Args:
        listing: the lake's files, as :class:`~synctrail.lake.Listing` has them.
        ledger: the files that the warehouse knows.
        plan: what a load of that listing would read.

    Returns:
        One row per sync of the lake: when its newest file in the lake and its newest loaded file were
        modified, the seconds between the two (null if nothing of it is loaded), and the number and bytes of
        the files that a load would read.

    """
    syncs: dict[tuple[str, str], _Sync] = defaultdict(_Sync)
    paths, moments = (listing.column(name).to_pylist() for name in ("path", "modified_at"))
    for path, moment in zip(paths, moments, strict=True):
        told = parse_path(path)
        if told is not None and told.sync_id is not None:
            syncs[told.org_id, told.sync_id].in_lake.append(moment)
    for file in ledger.select(["org_id", "sync_id", "kind", "status", "modified_at"]).to_pylist():
        if file["kind"] in _OF_RUNS and file["status"] != contract.QUARANTINED:
            syncs[file["org_id"], file["sync_id"]].loaded.append(file["modified_at"])
    for planned in plan.files:
        if planned.told.sync_id is not None:
            syncs[planned.told.org_id, planned.told.sync_id].waiting.append(planned.size_bytes)
    return [_row(*ids, sync) for ids, sync in sorted(syncs.items()) if sync.in_lake]


def _row(org_id: str, sync_id: str, sync: _Sync) -> dict[str, Any]:
    newest_in_lake = max(sync.in_lake)
    newest_loaded = max(sync.loaded, default=None)
    behind = None if newest_loaded is None else max(newest_in_lake - newest_loaded, dt.timedelta())
    return {
        "org_id": org_id,
        "sync_id": sync_id,
        "newest_in_lake_at": newest_in_lake,
        "newest_loaded_at": newest_loaded,
        "lag_seconds": None if behind is None else round(behind.total_seconds()),
        "files_waiting": len(sync.waiting),
        "bytes_waiting": sum(sync.waiting),
    }
