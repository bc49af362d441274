"""The listing minus the ledger."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa

from synctrail.columns import TIMESTAMP
from synctrail.plan import LEDGER_SCHEMA, make_plan

EARLY = dt.datetime(2025, 11, 20, 10, 0, 0, 123000, tzinfo=dt.UTC)
LATE = EARLY + dt.timedelta(milliseconds=1)
RUN = "sync_tracking_datasets/1/22/333"


def listing(*files: tuple[str, int, dt.datetime]) -> pa.Table:
    schema = pa.schema(
        {"path": pa.string(), "url": pa.string(), "size_bytes": pa.int64(), "modified_at": TIMESTAMP}
    )
    rows = [
        {"path": path, "url": f"file:/{path}", "size_bytes": size, "modified_at": moment}
        for path, size, moment in files
    ]
    return pa.Table.from_pylist(rows, schema)


def ledger(*files: tuple[str, int, dt.datetime, str]) -> pa.Table:
    return pa.Table.from_pylist(
        [dict(zip(LEDGER_SCHEMA.names, file, strict=True)) for file in files], LEDGER_SCHEMA
    )


def test_all_is_new_to_an_empty_ledger():
    plan = make_plan(listing((f"{RUN}/a.0.parquet", 10, EARLY), (f"{RUN}/notes.txt", 5, EARLY)), ledger())
    assert [file.path for file in plan.files] == [f"{RUN}/a.0.parquet"]
    assert (plan.files_seen, plan.known_quarantined, plan.bytes_planned) == (1, 0, 10)


def test_only_what_is_new_or_changed_is_planned():
    names = [f"{RUN}/{name}.0.parquet" for name in ("same", "size", "time", "new", "bad")]
    same, size, time, new, bad = names
    plan = make_plan(
        listing(*((name, 10, EARLY) for name in names)),
        ledger(
            (same, 10, EARLY, "loaded"),
            (size, 11, EARLY, "loaded"),
            (time, 10, LATE, "loaded"),
            (bad, 10, EARLY, "quarantined"),
            (f"{RUN}/gone.0.parquet", 10, EARLY, "quarantined"),
        ),
    )
    assert {file.path for file in plan.files} == {size, time, new}
    assert (plan.files_seen, plan.known_quarantined) == (5, 1)


def test_nothing_new():
    plan = make_plan(
        listing((f"{RUN}/a.0.parquet", 10, EARLY)), ledger((f"{RUN}/a.0.parquet", 10, EARLY, "loaded"))
    )
    assert (plan.files, plan.files_seen, plan.known_quarantined) == ([], 1, 0)


def test_a_hundred_thousand_files_are_planned_in_seconds(benchmark_seconds=10.0):
    files = [(f"{RUN}{number}/a.0.parquet", number, EARLY) for number in range(100_000)]
    begun = dt.datetime.now()
    plan = make_plan(listing(*files), ledger(*((*file, "loaded") for file in files[1:])))
    assert len(plan.files) == 1
    assert (dt.datetime.now() - begun).total_seconds() < benchmark_seconds
