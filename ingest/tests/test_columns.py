"""Columns of every type that files have, as text and as timestamps."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal

import pyarrow as pa
import pytest

from synctrail.columns import TypeConflict, as_json_objects, as_text, as_timestamp

MOMENT = dt.datetime(2025, 11, 1, 10, 20, 30, 123456, tzinfo=dt.UTC)
NAIVE = MOMENT.replace(tzinfo=None)


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array(["a", None, " é "]), ["a", None, " é "]),
        (pa.array([7, None], pa.int64()), ["7", None]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([1.5, 2.0]), ["1.5", "2"]),
        (pa.array([True, False]), ["true", "false"]),
        (pa.array([Decimal("1.50")]), ["1.50"]),
        (pa.array([b"ab", None]), ["ab", None]),
        (pa.array([b"ab"], pa.binary(2)), ["ab"]),
        (pa.array(["x"], pa.large_string()), ["x"]),
        (pa.array(["x"], pa.string_view()), ["x"]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.array([dt.date(2025, 11, 1)]), ["2025-11-01"]),
        (pa.nulls(2), [None, None]),
        (pa.nulls(2, pa.list_(pa.int8())), [None, None]),
        (
            pa.ExtensionArray.from_storage(pa.uuid(), pa.array([bytes(range(16))], pa.binary(16))),
            ["00010203-0405-0607-0809-0a0b0c0d0e0f"],
        ),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_text(array, expected):
    text = as_text("identifier", array)
    assert text.type == pa.string()
    assert text.to_pylist() == expected


@pytest.mark.parametrize(
    "array",
    [
        pa.array([{"a": 1}]),
        pa.array([[1]]),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        pa.array([b"\xff"]),
        pa.Array.from_buffers(
            pa.string(), 1, [None, pa.array([0, 1], pa.int32()).buffers()[1], pa.py_buffer(b"\xff")]
        ),
    ],
    ids=["struct", "list", "map", "binary", "broken text"],
)
def test_what_is_no_text(array):
    with pytest.raises(TypeConflict, match="record_payload"):
        as_text("record_payload", array)


@pytest.mark.parametrize(
    "array",
    [
        pa.array([MOMENT], pa.timestamp("us", "UTC")),
        pa.array([NAIVE], pa.timestamp("us")),
        pa.array([MOMENT], pa.timestamp("us", "America/New_York")),
        pa.array([1761992430123456789], pa.timestamp("ns")),
        pa.array([1761992430123456789], pa.timestamp("ns", "UTC")),
        pa.array(["2025-11-01T10:20:30.123456Z"]),
        pa.array(["2025-11-01 10:20:30.123456789"]),
        pa.array([" 2025-11-01T12:20:30.123456+02:00 "]),
        pa.array(["2025-11-01t04:50:30,123456-0530"]),
        pa.array(["20251101T102030.123456z"]),
        pa.array(["2025-11-01 10:20:30.123456 UTC"]),
        pa.array(["2025-11-01 10:20:30.123456+00"]),
        pa.array([b"2025-11-01T10:20:30.123456Z"]),
        pa.array(["2025-11-01T10:20:30.123456Z"], pa.large_string()),
        pa.array(["2025-11-01T10:20:30.123456Z"]).dictionary_encode(),
    ],
    ids=lambda array: f"{array.type} {array[0].as_py() if pa.types.is_string(array.type) else ''}",
)
def test_one_moment_in_every_encoding(array):
    instants = as_timestamp("batch_started_at", array)
    assert instants.type == pa.timestamp("us", "UTC")
    assert instants.to_pylist() == [MOMENT]


@pytest.mark.parametrize(
    ("array", "expected"),
    [
        (pa.array([1761992430], pa.timestamp("s")), MOMENT.replace(microsecond=0)),
        (pa.array([1761992430123], pa.timestamp("ms")), MOMENT.replace(microsecond=123000)),
        (pa.array([MOMENT.date()]), MOMENT.replace(hour=0, minute=0, second=0, microsecond=0)),
        (pa.array(["2025-11-01"]), MOMENT.replace(hour=0, minute=0, second=0, microsecond=0)),
        (pa.array(["2025-11-01T10:20"]), MOMENT.replace(second=0, microsecond=0)),
        (pa.array(["1969-12-31T23:59:59.5Z"]), dt.datetime(1969, 12, 31, 23, 59, 59, 500000, dt.UTC)),
        (pa.array(["9999-12-31T23:59:59.999999Z"]), dt.datetime(9999, 12, 31, 23, 59, 59, 999999, dt.UTC)),
        (pa.array(["  "]), None),
        (pa.array([None], pa.string()), None),
        (pa.array([None], pa.int64()), None),
        (pa.nulls(1), None),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_coarser_and_absent_moments(array, expected):
    assert as_timestamp("batch_started_at", array).to_pylist() == [expected]


@pytest.mark.parametrize(
    ("array", "told"),
    [
        (pa.array([1761992430], pa.int64()), "int64"),
        (pa.array([1761992430.5]), "double"),
        (pa.array([True]), "bool"),
        (pa.array([{"a": 1}]), "struct"),
        (pa.array(["2025-11-01", "yesterday"]), "'yesterday'"),
        (pa.array(["1761992430"]), "'1761992430'"),
        (pa.array(["2025-13-01T00:00:00Z"]), "2025-13-01"),
        (pa.array([10**17], pa.timestamp("s")), "timestamp"),
        (pa.array([2**62], pa.timestamp("us")), "years 1 to 9999"),
        (pa.array(["0001-01-01T00:00:00+01:00"]), "years 1 to 9999"),
        (pa.array([dt.time(1)]), "time64"),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_what_is_no_timestamp(array, told):
    with pytest.raises(TypeConflict, match="batch_started_at") as conflict:
        as_timestamp("batch_started_at", array)
    assert told in str(conflict.value)


def test_further_columns_as_json():
    columns = {
        "region": pa.array(["Köln", None]),
        "score": pa.array([float("nan"), 1.5]),
        "amount": pa.array([Decimal("1.50"), None]),
        "seen": pa.array([NAIVE, None], pa.timestamp("us")),
        "absurd": pa.array([2**62, None], pa.timestamp("us")),
        "raw": pa.array([b"\xff", None]),
        "nested": pa.array([{"tags": ["a"], "on": dt.date(2025, 11, 1)}, None]),
        "broken": pa.array([b"\xff", b"ok"]).view(pa.string()),
    }
    first, second = (json.loads(text) for text in as_json_objects(columns).to_pylist())
    assert first.pop("absurd") is not None
    assert first == {
        "region": "Köln",
        "score": "nan",
        "amount": "1.50",
        "seen": "2025-11-01 10:20:30.123456",
        "raw": "/w==",
        "nested": {"tags": ["a"], "on": "2025-11-01"},
        "broken": None,
    }
    assert second == dict.fromkeys(columns) | {"score": 1.5, "broken": "ok"}
