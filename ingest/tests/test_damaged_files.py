"""Odd and damaged files of many kinds between good ones: good rows are loaded, no bad file stops the load."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable

import pyarrow as pa
import pytest
from conftest import Loader
from lakes import STARTED, Lake, parquet_bytes, record_columns

from synctrail import contract

RUN = "1/22/333"
FOLDER = f"sync_tracking_datasets/{RUN}"
FILES = 60
MANY_FILES = int(os.environ.get("SYNCTRAIL_TEST_DAMAGED_FILES", "2000"))
REASONS = {
    contract.EMPTY_FILE,
    contract.NOT_PARQUET,
    contract.TRUNCATED,
    contract.UNREADABLE,
    contract.MISSING_COLUMNS,
    contract.TYPE_CONFLICT,
    contract.IDENTITY_MISMATCH,
}

Make = Callable[[random.Random], bytes]


def good(chance: random.Random) -> bytes:
    """Make a file that no test damages, in one of several layouts."""
    columns = record_columns([f"user-{number}" for number in range(chance.randrange(1, 300))])
    return parquet_bytes(
        columns,
        compression=chance.choice(["snappy", "zstd", "none"]),
        row_group_size=chance.choice([7, 100, 1000]),
        write_page_checksum=chance.random() < 0.5,
    )


def cut(chance: random.Random) -> bytes:
    content = good(chance)
    return content[: chance.randrange(len(content))]


def _flipped(chance: random.Random, content: bytes, begin: int, end: int) -> bytes:
    damaged = bytearray(content)
    for _ in range(chance.randrange(1, 30)):
        damaged[chance.randrange(begin, end)] ^= 1 << chance.randrange(8)
    return bytes(damaged)


def flipped_in_pages(chance: random.Random) -> bytes:
    content = good(chance)
    return _flipped(chance, content, 4, len(content) - 8 - int.from_bytes(content[-8:-4], "little"))


def flipped_in_footer(chance: random.Random) -> bytes:
    content = good(chance)
    return _flipped(
        chance, content, len(content) - 8 - int.from_bytes(content[-8:-4], "little"), len(content)
    )


def noise(chance: random.Random) -> bytes:
    return b"PAR1" + chance.randbytes(chance.randrange(500)) + b"PAR1"


def swapped_types(chance: random.Random) -> bytes:
    name = chance.choice(["identifier", "operation", "batch_started_at", "status"])
    values = chance.choice([[{"a": 1}, {"a": 2}], [[1], [2]]])
    return parquet_bytes(record_columns(["a", "b"]) | {name: values})


def absurd_timestamps(chance: random.Random) -> bytes:
    instants = pa.array([chance.choice([-(2**62), 2**62]), 0], pa.int64())
    return parquet_bytes(record_columns(["a", "b"], batch_started_at=instants.cast(pa.timestamp("us"))))


def wrong_encoding(chance: random.Random) -> bytes:
    return parquet_bytes(
        record_columns(["a", "b"], record_payload=pa.array([b"\xff\xfe", chance.randbytes(9) + b"\xff"]))
    )


# Files that are odd, and good.
ODD: dict[str, Make] = {
    "null bytes": lambda _: parquet_bytes(
        record_columns(["a\0b", "\0"], record_payload=['{"a": "\0"}', "\0"])
    ),
    "deep JSON": lambda _: parquet_bytes(record_columns(["a"], record_payload=["[" * 100_000])),
    "zero row groups": lambda _: parquet_bytes(record_columns([])),
    "many columns": lambda _: parquet_bytes(record_columns(["a"]) | {f"c{n}": [n] for n in range(5000)}),
    "a long payload": lambda _: parquet_bytes(
        record_columns(["a"], record_payload=[json.dumps("x" * 10_000_000)])
    ),
    "years 1 and 9999": lambda _: parquet_bytes(
        record_columns(
            ["a"], batch_started_at=["0001-01-01T00:00:00Z"], batch_ended_at=[STARTED.replace(year=9999)]
        )
    ),
}
# Files of which no row may be loaded.
BAD: list[Make] = [cut, noise, swapped_types, absurd_timestamps, wrong_encoding]
# Files that may be read in spite of it: a flipped bit in a text is another text.
DOUBTFUL: list[Make] = [flipped_in_pages, flipped_in_footer]


@pytest.mark.parametrize("count", [FILES, pytest.param(MANY_FILES, marks=pytest.mark.slow)])
def test_every_good_row_is_loaded_and_every_bad_file_is_quarantined(duckdb_loader, lake, count):
    chance = random.Random(count)
    makes = {"good": [good], "bad": BAD, "doubtful": DOUBTFUL}
    made: dict[str, list[str]] = {kind: [] for kind in makes}
    for number in range(count):
        kind = list(makes)[number % len(makes)]
        content = chance.choice(makes[kind])(chance)
        made[kind].append(lake.write(f"{FOLDER}/{kind}.{number}.parquet", content))
    made["good"] += [lake.write(f"{FOLDER}/odd {name}.parquet", make(chance)) for name, make in ODD.items()]
    result = duckdb_loader.load(lake)
    assert not result.is_complete
    assert_all_is_told(duckdb_loader, lake, made)


def assert_all_is_told(loader: Loader, lake: Lake, made: dict[str, list[str]]) -> None:
    """Assert that the ledger has each file, with a reason where it is bad, and that the rows agree."""
    ledger = {row["path"]: row for row in loader.rows("load_files")}
    assert set(ledger) == {path for paths in made.values() for path in paths}
    assert {path: ledger[path]["detail"] for path in made["good"] if ledger[path]["status"] != "loaded"} == {}
    assert [path for path in made["bad"] if ledger[path]["status"] != "quarantined"] == []
    for row in ledger.values():
        assert row["status"] == "loaded" or (row["reason"] in REASONS and row["detail"])
    counts = Counter(row["_source_file"] for row in loader.rows("sync_tracking_records"))
    assert counts == {path: row["row_count"] for path, row in ledger.items() if row["row_count"]}
