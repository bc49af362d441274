"""Erases people from staging, and leaves tombstones by which later loads know whom to leave out."""

from __future__ import annotations

import datetime as dt
import secrets
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from synctrail.ids import new_id
from synctrail.privacy import identifier_hash
from synctrail.warehouses.base import FORGOTTEN_SCHEMA, Warehouse

_SALT_BYTES = 16


@dataclass(frozen=True)
class Forgetting:
    """What a command has forgotten: how many identifiers, and how many rows of staging they had."""

    identifiers: int
    rows_erased: int


def forget(
    warehouse: Warehouse, identifiers: Sequence[str], syncs: Sequence[str] = (), *, wait_seconds: float = 0
) -> Forgetting:
    """Erase all rows of some records, and keep them out of later loads.

    The lake still has them. A tombstone has no identifier but its salted hash, see
    :func:`~synctrail.privacy.identifier_hash`. Done twice, it changes nothing more.

    Args:
        warehouse: where the staging tables are.
        identifiers: values of ``record_identifier``, exactly as they are there.
        syncs: ids of the syncs in which they are forgotten; none for every sync.
        wait_seconds: how long to wait for a load to end before giving up.

    Raises:
        SynctrailError: the warehouse cannot be used, or a load is running. Spark's own errors pass through.

    """
    with warehouse.lock(wait_seconds):
        known = warehouse.forgotten()
        salt = known.column("salt")[0].as_py() if known.num_rows else secrets.token_hex(_SALT_BYTES)
        there = {(row["sync_id"], row["identifier_hash"]) for row in known.to_pylist()}
        wanted = {(sync, identifier_hash(salt, text)) for sync in syncs or (None,) for text in identifiers}
        forgotten_at = dt.datetime.now(dt.UTC)
        load_id = new_id(forgotten_at)
        rows = [
            {
                "sync_id": sync,
                "identifier_hash": digest,
                "salt": salt,
                "forgotten_at": forgotten_at,
                "load_id": load_id,
            }
            for sync, digest in wanted - there
        ]
        tombstones = pa.Table.from_pylist(rows, FORGOTTEN_SCHEMA)
        erased = warehouse.forget(sorted(set(identifiers)), sorted(set(syncs)), tombstones)
    return Forgetting(len(set(identifiers)), erased)
