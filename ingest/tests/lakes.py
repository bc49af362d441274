"""Lakes made by hand: a few rows each, in the shapes that Census has written over time."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

STARTED = dt.datetime(2025, 11, 20, 10, 0, 0, 123456, tzinfo=dt.UTC)
ENDED = dt.datetime(2025, 11, 20, 10, 0, 5, tzinfo=dt.UTC)


def record_columns(identifiers: Sequence[Any], **others: Any) -> dict[str, Any]:
    """Return the columns of a good file of the middle era; ``others`` replace or add columns."""
    count = len(identifiers)
    columns: dict[str, Any] = {
        "identifier": list(identifiers),
        "record_payload": [json.dumps({"id": identifier}) for identifier in identifiers],
        "operation": ["upsert"] * count,
        "status": ["succeeded"] * count,
        "status_message": pa.nulls(count, pa.string()),
        "batch_started_at": pa.array([STARTED] * count, pa.timestamp("us", "UTC")),
        "batch_ended_at": pa.array([ENDED] * count, pa.timestamp("us", "UTC")),
    }
    return columns | others


def parquet_bytes(columns: Mapping[str, Any], **options: Any) -> bytes:
    """Return a Parquet file's bytes."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(dict(columns)), sink, **options)
    return sink.getvalue().to_pybytes()


@dataclass(frozen=True)
class Lake:
    """A lake below a local folder."""

    root: Path

    def write(self, path: str, content: bytes, *, age_seconds: float | None = None) -> str:
        """Write a file below the root; ``age_seconds`` ago, if given. Return its path below the root."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        if age_seconds is not None:
            moment = dt.datetime.now().timestamp() - age_seconds
            os.utime(file, (moment, moment))
        return path

    def records(self, run: str, name: str, columns: Mapping[str, Any], **options: Any) -> str:
        """Write a record file into a run's folder, given as ``org/sync/run``."""
        return self.write(f"sync_tracking_datasets/{run}/{name}", parquet_bytes(columns, **options))

    def metadata(self, run: str, content: Any) -> str:
        """Write a run's ``metadata.json``: bytes as they are, all else as JSON."""
        raw = content if isinstance(content, bytes) else json.dumps(content).encode()
        return self.write(f"sync_tracking_datasets/{run}/metadata.json", raw)

    def facts(self, path: str, columns: Mapping[str, Any], *, age_seconds: float | None = None) -> str:
        """Write a file of a fact table, given as ``org/name.parquet``."""
        return self.write(f"metadata/{path}", parquet_bytes(columns), age_seconds=age_seconds)

    def remove(self, path: str) -> None:
        """Remove a file."""
        (self.root / path).unlink()

    def state(self) -> dict[str, tuple[int, int, bytes]]:
        """Return every file below the root with its size, modification time and content."""
        return {
            str(file.relative_to(self.root)): (
                file.stat().st_size,
                file.stat().st_mtime_ns,
                file.read_bytes(),
            )
            for file in sorted(self.root.rglob("*"))
            if file.is_file()
        }
