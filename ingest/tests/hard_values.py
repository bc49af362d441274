"""A sample lake in three loads, with hard values in the last, into any warehouse and into DuckDB."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from conftest import Loader
from lakes import Lake, record_columns

from synctrail.plan import retry_plan
from synctrail.sample_lake import write_sample_lake

_RUN = "1/22/333"
EDGES = [
    dt.datetime(1, 1, 1, tzinfo=dt.UTC),
    dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC),
    dt.datetime(2025, 3, 30, 2, 30, 0, 1, tzinfo=dt.UTC),
]
# What a text format could take for something else, and a payload of 10 MB.
TEXTS = [
    *(
        "",
        " ",
        "NULL",
        "\\N",
        "\\.",
        '"',
        '""',
        "''",
        ",",
        "\n",
        "\r\n",
        "a\tb\\n",
        "\ufeff",
        "é 漢字 🎉 e\u0301",
    ),
    json.dumps({"text": "ü" * 5_000_000}, ensure_ascii=False),
]


def load_as_duckdb_does(
    loader: Loader,
    duckdb_loader: Loader,
    folder: Path,
    *more: Mapping[str, Any],
    as_stored: Callable[[str], str] = str,
) -> dict[str, list[dict[str, Any]]]:
    """Load a lake in three parts, and at once into DuckDB; return the tables, which have to be the same.

    Args:
        loader: into the warehouse that is tested.
        duckdb_loader: into DuckDB.
        folder: where the lake is written.
        more: columns of further record files of the last part.
        as_stored: what becomes of a text there.

    """
    for lake in _lakes_in_parts(folder, more):
        loader.load(lake)
    duckdb_loader.load(lake)
    found = loader.tables()
    expected = {table: _stored(rows, as_stored) for table, rows in duckdb_loader.tables().items()}
    for table, rows in expected.items():
        assert rows, table
        assert found[table] == rows, table
    assert {row["record_payload"] for row in found["sync_tracking_records"]}.issuperset(map(as_stored, TEXTS))

    retried = loader.load(lake, planner=retry_plan)
    assert (retried.history["files_seen"], retried.is_complete) == (1, False)
    assert loader.tables() == expected
    assert [row["rows_loaded"] for row in loader.rows("load_history")][-1] == 0
    return found


def _stored(rows: list[dict[str, Any]], as_stored: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return rows with each text as a warehouse stores it, sorted."""
    stored = (
        {name: as_stored(value) if isinstance(value, str) else value for name, value in row.items()}
        for row in rows
    )
    return sorted(stored, key=repr)


def _lakes_in_parts(folder: Path, more: tuple[Mapping[str, Any], ...]) -> Iterator[Lake]:
    sample, lake = folder / "sample", Lake(folder / "lake")
    write_sample_lake(sample, rows=2_000, seed=5, runs=62)
    files = sorted(path for path in sample.rglob("*") if path.is_file())
    for part in range(3):
        for file in files[part::3]:
            place = lake.root / file.relative_to(sample)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
        if part == 2:
            hard = {
                "record_payload": TEXTS,
                "status_message": [None, *TEXTS[1:]],
                "batch_started_at": pa.array([*EDGES, *[None] * (len(TEXTS) - 3)], pa.timestamp("us", "UTC")),
            }
            for number, columns in enumerate([record_columns(TEXTS, **hard), *more]):
                lake.records(_RUN, f"hard.{number}.parquet", columns)
            lake.write("sync_tracking_datasets/1/22/1/bad.0.parquet", b"PAR1")
        yield lake
