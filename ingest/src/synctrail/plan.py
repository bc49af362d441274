"""What a load has to do: the lake's listing minus the ledger."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from synctrail import contract
from synctrail.columns import TIMESTAMP
from synctrail.lake import LakeFile, parse_path
from synctrail.read import file_key

_IDENTITY = ["path", "size_bytes", "modified_at"]

LEDGER_SCHEMA = pa.schema(
    {"path": pa.string(), "size_bytes": pa.int64(), "modified_at": TIMESTAMP, "status": pa.string()}
)
"""What planning needs of the ledger: one row per file, as last seen."""


class PlannedFile(NamedTuple):
    """A file that is new or has changed; ``modified_at_us`` is in microseconds since 1970, UTC."""

    path: str
    url: str
    size_bytes: int
    modified_at_us: int
    key: int
    told: LakeFile


@dataclass(frozen=True)
class Plan:
    """The files to read, and those seen in the lake that are as the ledger has them."""

    files: list[PlannedFile]
    files_seen: int
    known_quarantined: int

    @property
    def bytes_planned(self) -> int:
        """Return the size of the files to read."""
        return sum(file.size_bytes for file in self.files)


def make_plan(listing: pa.Table, ledger: pa.Table) -> Plan:
    """Take from a listing (``path``, ``url``, ``size_bytes``, ``modified_at``) what the ledger lacks.

    A file counts as known when path, size and modification time are the same.
    """
    known = listing.join(ledger, keys=_IDENTITY, join_type="inner") if ledger.num_rows else None
    fresh = listing.join(ledger, keys=_IDENTITY, join_type="left anti") if ledger.num_rows else listing
    quarantined = pc.sum(pc.equal(known.column("status"), contract.QUARANTINED)).as_py() if known else 0
    planned = _planned_files(fresh)
    return Plan(
        files=list(planned.values()),
        files_seen=(known.num_rows if known else 0) + len(planned),
        known_quarantined=quarantined or 0,
    )


def retry_plan(listing: pa.Table, ledger: pa.Table) -> Plan:
    """Take from a listing the files that the ledger has as quarantined, changed since or not."""
    quarantined = ledger.filter(pc.equal(ledger.column("status"), contract.QUARANTINED)).column("path")
    planned = _planned_files(listing.filter(pc.is_in(listing.column("path"), value_set=quarantined)))
    return Plan(files=list(planned.values()), files_seen=len(planned), known_quarantined=0)


def _planned_files(fresh: pa.Table) -> dict[int, PlannedFile]:
    planned: dict[int, PlannedFile] = {}
    for path, url, size, modified in zip(
        fresh.column("path").to_pylist(),
        fresh.column("url").to_pylist(),
        fresh.column("size_bytes").to_pylist(),
        fresh.column("modified_at").cast(pa.int64()).to_pylist(),
        strict=True,
    ):
        told = parse_path(path)
        if told is not None:
            # Two paths with one key are as good as impossible; if so, the next load takes the other file.
            key = file_key(path)
            planned.setdefault(key, PlannedFile(path, url, size, modified, key, told))
    return planned
