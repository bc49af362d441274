"""One file's bytes in, rows and outcome out: every era, every odd column, every kind of damage."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from lakes import ENDED, STARTED, parquet_bytes, record_columns

from synctrail import read
from synctrail.read import Outcome, file_key, read_facts, read_records, read_run_metadata

PATH = "sync_tracking_datasets/1/22/333/records_updated.0.parquet"
FACTS_PATH = "metadata/1/dim_7.parquet"


def rows_and_outcome(batches) -> tuple[list[dict[str, Any]], Outcome]:
    """Return the rows, as dicts, and the outcome of what a reader yields."""
    table = pa.Table.from_batches(list(batches))
    *rows, last = table.to_pylist()
    assert all(row["_outcome"] is None for row in rows)
    return rows, Outcome.from_json(last["_outcome"])


def read_one(columns: Any, path: str = PATH) -> tuple[list[dict[str, Any]], Outcome]:
    content = columns if isinstance(columns, bytes) else parquet_bytes(columns)
    return rows_and_outcome(read_records(path, pa.py_buffer(content)))


def refusal(columns: Any) -> tuple[str | None, str]:
    _, outcome = read_one(columns)
    assert outcome.status == "quarantined"
    assert outcome.kind == "records"
    assert outcome.path == PATH
    assert outcome.row_count is None
    return outcome.reason, outcome.detail or ""


def test_the_middle_era():
    rows, outcome = read_one(record_columns(["a", None]))
    assert outcome == Outcome(PATH, "loaded", "records", row_count=2)
    assert rows == [
        {
            "file_key": file_key(PATH),
            "row_no": 0,
            "internal_id": None,
            "record_identifier": "a",
            "record_payload": '{"id": "a"}',
            "operation": "upsert",
            "status": "succeeded",
            "status_message": None,
            "batch_started_at": STARTED,
            "batch_completed_at": ENDED,
            "_extra": None,
            "_outcome": None,
        },
        rows[1],
    ]
    assert (rows[1]["row_no"], rows[1]["record_identifier"]) == (1, None)


def test_the_first_era_has_internal_ids():
    rows, _ = read_one(record_columns(["a", "b"], census_sync_tracking_internal_id=[7, 8]))
    assert [row["internal_id"] for row in rows] == ["7", "8"]
    assert rows[0]["_extra"] is None


def test_the_last_era_has_the_ids_of_the_path():
    rows, outcome = read_one(
        record_columns(["a"], sync_configuration_id=[22], sync_run_id=pa.array(["333"], pa.large_string()))
    )
    assert outcome.status == "loaded"
    assert rows[0]["_extra"] is None


def test_ids_in_the_rows_may_be_null():
    _, outcome = read_one(record_columns(["a", "b"], sync_run_id=[None, "333"]))
    assert outcome.status == "loaded"


def test_columns_in_any_order():
    columns = record_columns(["a"])
    rows, _ = read_one(dict(reversed(columns.items())))
    assert (rows[0]["record_identifier"], rows[0]["operation"], rows[0]["status"]) == (
        "a",
        "upsert",
        "succeeded",
    )


def test_the_end_of_a_batch_has_two_names():
    columns = record_columns(["a", "b"])
    ended = columns.pop("batch_ended_at")
    rows, _ = read_one(columns | {"batch_completed_at": ended})
    assert [row["batch_completed_at"] for row in rows] == [ENDED, ENDED]
    later = ENDED + dt.timedelta(hours=1)
    both = {"batch_ended_at": pa.array([None, ENDED]), "batch_completed_at": pa.array([later, later])}
    rows, _ = read_one(columns | both)
    assert [row["batch_completed_at"] for row in rows] == [later, ENDED]
    assert rows[0]["_extra"] is None


def test_only_three_columns_are_needed():
    columns = record_columns(["a"])
    rows, outcome = read_one({name: columns[name] for name in ("status", "identifier", "operation")})
    assert outcome.status == "loaded"
    assert rows[0]["batch_started_at"] is None
    assert rows[0]["record_payload"] is None


def test_values_are_untouched():
    odd = record_columns(
        [" a ", "", 'x"\\\n\x00', "🙂"],
        record_payload=["no json", "[1]", "", None],
        operation=["UPSERT ", "explode", "", None],
        status=["NULL", "DUPLICATE", None, "weird"],
    )
    rows, outcome = read_one(odd)
    assert outcome.row_count == 4
    for staged, name in (
        ("record_identifier", "identifier"),
        *((n, n) for n in ("record_payload", "operation", "status")),
    ):
        assert [row[staged] for row in rows] == odd[name]


@pytest.mark.parametrize(
    ("ids", "usable"),
    [
        (["x", "y", "z"], ["x", "y", "z"]),
        (["x", None, " "], ["x", None, None]),
        (["x", "y", "x"], [None, "y", None]),
        (["x", "x", None], [None, None, None]),
        ([None, None, None], [None, None, None]),
    ],
)
def test_internal_ids_that_identify_no_row_are_not_used(ids, usable):
    columns = record_columns(["a", "b", "c"], census_sync_tracking_internal_id=pa.array(ids, pa.string()))
    rows, outcome = read_one(columns)
    assert outcome.status == "loaded"
    assert [row["internal_id"] for row in rows] == usable


def test_internal_ids_that_repeat_far_apart(monkeypatch):
    monkeypatch.setattr(read, "_BATCH_ROWS", 2)
    columns = record_columns(list("abcde"), census_sync_tracking_internal_id=["1", "2", "3", "1", "5"])
    rows, _ = read_one(columns)
    assert [row["internal_id"] for row in rows] == [None, "2", "3", None, "5"]
    assert [row["row_no"] for row in rows] == [0, 1, 2, 3, 4]


def test_unknown_columns_are_kept():
    rows, _ = read_one(record_columns(["a", "b"], region=["EU", None], tags=[["x"], []]))
    assert [json.loads(row["_extra"]) for row in rows] == [
        {"region": "EU", "tags": ["x"]},
        {"region": None, "tags": []},
    ]


def test_a_column_that_occurs_twice():
    table = pa.table(record_columns(["a"]))
    table = table.append_column("identifier", pa.array(["second"])).append_column("x", pa.array([1]))
    table = table.append_column("x", pa.array([2])).append_column("a.b", pa.array([3]))
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    rows, outcome = read_one(sink.getvalue().to_pybytes())
    assert outcome.status == "loaded"
    assert rows[0]["record_identifier"] == "a"
    assert json.loads(rows[0]["_extra"]) == {"identifier": "second", "x": 1, "x#2": 2, "a.b": 3}


@pytest.mark.parametrize("row_groups", [0, 1])
def test_a_file_without_rows_is_good(row_groups):
    table = pa.table(record_columns(["a"])).slice(0, 0)
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, table.schema) as writer:
        for _ in range(row_groups):
            writer.write_table(table)
    rows, outcome = read_one(sink.getvalue().to_pybytes())
    assert rows == []
    assert outcome == Outcome(PATH, "loaded", "records", row_count=0)


@pytest.mark.parametrize("compression", ["none", "snappy", "gzip", "zstd", "brotli", "lz4"])
def test_codecs(compression):
    _, outcome = read_one(parquet_bytes(record_columns(["a"]), compression=compression))
    assert outcome.row_count == 1


@pytest.mark.parametrize(
    "options",
    [
        {"use_deprecated_int96_timestamps": True},
        {"coerce_timestamps": "ms", "allow_truncated_timestamps": True},
        {"version": "1.0"},
        {"data_page_version": "2.0"},
        {"use_dictionary": False, "store_schema": False},
    ],
    ids=str,
)
def test_timestamp_encodings_of_parquet(options):
    rows, outcome = read_one(parquet_bytes(record_columns(["a"]), **options))
    assert outcome.status == "loaded"
    micros = 123000 if "coerce_timestamps" in options else 123456
    assert rows[0]["batch_started_at"] == STARTED.replace(microsecond=micros)


def test_int96_beyond_the_range_of_nanoseconds():
    moment = dt.datetime(2400, 1, 1, tzinfo=dt.UTC)
    content = bytearray(
        parquet_bytes(
            record_columns(["a"], batch_started_at=pa.array([STARTED.replace(microsecond=0)])),
            use_deprecated_int96_timestamps=True,
            compression="none",
            use_dictionary=False,
            write_statistics=False,
        )
    )
    julian_day = 2440588 + (STARTED.date() - dt.date(1970, 1, 1)).days
    later_day = julian_day + (moment.date() - STARTED.date()).days
    position = bytes(content).index(julian_day.to_bytes(4, "little"))
    content[position : position + 4] = later_day.to_bytes(4, "little")
    rows, outcome = read_one(bytes(content))
    assert outcome.status == "loaded"
    assert rows[0]["batch_started_at"].date() == moment.date()


def test_empty_file():
    assert refusal(b"") == ("empty_file", "the file has no bytes")


@pytest.mark.parametrize("content", [b"identifier,operation\n", b"PAR", b"\x00" * 1000, b" PAR1...PAR1"])
def test_not_parquet(content):
    assert refusal(content)[0] == "not_parquet"


@pytest.mark.parametrize("kept", [4, 8, 50, 400, -1, -4])
def test_truncated(kept):
    content = parquet_bytes(record_columns(["a"] * 50))
    reason, detail = refusal(content[:kept])
    assert reason == "truncated"
    assert str(len(content[:kept])) in detail


def broken_in_the_middle() -> bytes:
    """Return a file of five row groups, the third of which is damaged, with a good footer."""
    rows = 1000
    columns = record_columns([f"user-{number}" for number in range(rows)])
    content = bytearray(parquet_bytes(columns, row_group_size=200, compression="snappy"))
    page = pq.ParquetFile(pa.BufferReader(bytes(content))).metadata.row_group(2).column(0)
    start = page.dictionary_page_offset or page.data_page_offset
    content[start : start + page.total_compressed_size] = b"\xff" * page.total_compressed_size
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        b"PAR1PAR1PAR1",
        b"PAR1" + b"\x00" * 100 + b"PAR1",
        b"PARE" + b"\x00" * 100 + b"PARE",
        parquet_bytes(record_columns(["a"]))[:-8] + b"\xff\xff\xff\x7fPAR1",
        broken_in_the_middle(),
    ],
    ids=["magic alone", "no footer", "encrypted", "footer too long", "broken in the middle"],
)
def test_unreadable(content):
    reason, detail = refusal(content)
    assert reason == "unreadable"
    assert detail
    assert len(detail) <= 300
    assert "\n" not in detail


def test_rows_before_the_damage_come_before_the_outcome(monkeypatch):
    monkeypatch.setattr(read, "_BATCH_ROWS", 200)
    rows, outcome = read_one(broken_in_the_middle())
    assert 0 < len(rows) < 1000
    assert outcome.reason == "unreadable"


def test_a_flipped_byte_is_found_by_its_checksum():
    columns = record_columns([f"user-{number:06}" for number in range(1000)])
    content = bytearray(
        parquet_bytes(columns, compression="none", use_dictionary=False, write_page_checksum=True)
    )
    position = bytes(content).index(b"user-000500")
    content[position] ^= 0x20
    assert refusal(bytes(content))[0] == "unreadable"


@pytest.mark.parametrize("name", ["identifier", "operation", "status"])
def test_missing_columns(name):
    columns = record_columns(["a"])
    del columns[name]
    assert refusal(columns) == ("missing_columns", f"{name} absent")


def test_a_file_of_other_columns():
    assert refusal({"census_sync_tracking_internal_id": ["x"]}) == (
        "missing_columns",
        "identifier, operation, status absent",
    )


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("identifier", pa.array([{"id": 1}])),
        ("record_payload", pa.array([{"id": 1}])),
        ("status_message", pa.array([["a"]])),
        ("status", pa.array([b"\xff"])),
        ("batch_started_at", pa.array([1763633045])),
        ("batch_started_at", pa.array(["yesterday"])),
        ("batch_ended_at", pa.array([1.5])),
        ("census_sync_tracking_internal_id", pa.array([["a"]])),
        ("sync_run_id", pa.array([["333"]])),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else value,
)
def test_type_conflict(name, values):
    reason, detail = refusal(record_columns(["a"], **{name: values}))
    assert reason == "type_conflict"
    assert name in detail


@pytest.mark.parametrize(("name", "other"), [("sync_configuration_id", "23"), ("sync_run_id", 334)])
def test_identity_mismatch(name, other):
    good = {"sync_configuration_id": 22, "sync_run_id": 333}[name]
    values = [str(good), str(other)] if isinstance(other, str) else [good, other]
    reason, detail = refusal(record_columns(["a", "b"], **{name: values}))
    assert reason == "identity_mismatch"
    assert detail == f"{name} is '{other}' in a row, '{good}' in the path"


def test_the_order_of_reasons(monkeypatch):
    """A file with several faults has the first of them, wherever in the file each lies."""
    monkeypatch.setattr(read, "_BATCH_ROWS", 1)
    mismatch_then_conflict = record_columns(
        ["a", "b"], sync_run_id=["334", "333"], batch_started_at=["2025-11-01", "never"]
    )
    assert refusal(mismatch_then_conflict)[0] == "type_conflict"
    del mismatch_then_conflict["status"]
    assert refusal(mismatch_then_conflict)[0] == "missing_columns"
    broken = broken_in_the_middle().replace(b"operation", b"operatioN")
    assert refusal(broken)[0] == "unreadable"


def test_batches_are_bounded_by_their_bytes(monkeypatch):
    monkeypatch.setattr(read, "_BATCH_BYTES", 1 << 16)
    rng = np.random.default_rng(1)
    payloads = [rng.bytes(20_000).hex() for _ in range(20)]
    content = parquet_bytes(record_columns(["a"] * 20, record_payload=payloads), use_dictionary=False)
    batches = list(read_records(PATH, pa.py_buffer(content)))
    assert len(batches) > 10
    assert sum(batch.num_rows for batch in batches) == 21


def test_run_metadata_is_one_row():
    path = "sync_tracking_datasets/1/22/333/metadata.json"
    content = json.dumps({"sourceType": "Query", "started_at": "2025-11-20T10:00:00Z"}).encode()
    rows, outcome = rows_and_outcome(read_run_metadata(path, pa.py_buffer(content)))
    assert outcome == Outcome(path, "loaded", "run_metadata", row_count=1)
    assert rows[0]["source_type"] == "Query"
    assert rows[0]["sync_run_started_at"] == STARTED.replace(microsecond=0)
    assert rows[0]["metadata"] == content.decode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "empty_file"),
        (b"{", "invalid_json"),
        (b"[]", "invalid_json"),
        (b"\xff\xfe\xfa", "invalid_json"),
        (b'{"a": NaN}', "invalid_json"),
        (b"[" * 100_000, "invalid_json"),
        (b'{"started_at": 1763633045}', "type_conflict"),
        (b'{"started_at": "soon"}', "type_conflict"),
        (b'{"workspace_id": [1]}', "type_conflict"),
    ],
)
def test_bad_run_metadata(content, reason):
    path = "sync_tracking_datasets/1/22/333/metadata.json"
    rows, outcome = rows_and_outcome(read_run_metadata(path, pa.py_buffer(content)))
    assert rows == []
    assert (outcome.status, outcome.kind, outcome.reason) == ("quarantined", "run_metadata", reason)
    assert outcome.detail


def read_fact(columns: Any, path: str = FACTS_PATH) -> tuple[list[dict[str, Any]], Outcome]:
    content = columns if isinstance(columns, bytes) else parquet_bytes(columns)
    return rows_and_outcome(read_facts(path, pa.py_buffer(content)))


@pytest.mark.parametrize(
    ("columns", "kind"),
    [
        ({"id": [1], "type": ["Query"], "model_id": [5], "filter_segment_id": [None]}, "source_objects"),
        ({"id": [1], "type": ["Salesforce::Connection"]}, "destinations"),
        ({"id": [1], "type": ["Salesforce::ObjectTypes::Contact"]}, "destination_objects"),
    ],
)
def test_a_fact_table_told_by_its_columns(columns, kind):
    rows, outcome = read_fact(columns)
    assert outcome == Outcome(FACTS_PATH, "loaded", kind, row_count=1)
    assert (rows[0]["id"], rows[0]["type"]) == ("1", columns["type"][0])


def test_a_name_tells_more_than_columns():
    _, outcome = read_fact(
        {"id": [1], "type": ["Salesforce::ObjectTypes::Contact"]}, "metadata/1/destinations.parquet"
    )
    assert outcome.kind == "destinations"


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"id": [1], "colour": ["red"]}, "missing_columns"),
        ({"type": ["Salesforce::Connection"]}, "missing_columns"),
        ({"id": [[1]], "type": ["Salesforce::Connection"]}, "type_conflict"),
        (b"", "empty_file"),
        (b"no", "not_parquet"),
        (b"PAR1no", "truncated"),
        (b"PAR1" + b"\x00" * 100 + b"PAR1", "unreadable"),
    ],
)
def test_bad_fact_tables(columns, reason):
    rows, outcome = read_fact(columns)
    assert rows == []
    assert (outcome.kind, outcome.reason) == (None, reason)
    assert outcome.detail
