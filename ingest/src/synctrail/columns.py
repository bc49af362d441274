"""Columns as files write them, turned into the two types that staging has: text and UTC timestamps.

Values are never guessed at: what cannot be read as it is meant raises :class:`TypeConflict`, which names the
column and an example.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

TIMESTAMP = pa.timestamp("us", "UTC")
REPLACEMENT: Final = "\ufffd"
"""What stands for a NUL in the text of a warehouse that cannot hold one."""

_ISO_8601 = (
    r"^(?P<year>\d{4})-?(?P<month>\d{2})-?(?P<day>\d{2})"
    r"(?:[Tt ](?P<hour>\d{2})(?::?(?P<minute>\d{2})(?::?(?P<second>\d{2})(?:[.,](?P<fraction>\d+))?)?)?)?"
    r" ?(?:[Zz]|UTC|(?P<sign>[+-])(?P<zone_hours>\d{2}):?(?P<zone_minutes>\d{2})?)?$"
)
_EARLIEST_US = pa.scalar(dt.datetime(1, 1, 1, tzinfo=dt.UTC), TIMESTAMP).value
_LATEST_US = pa.scalar(dt.datetime(9999, 12, 31, 23, 59, 59, 999999, tzinfo=dt.UTC), TIMESTAMP).value
_EXAMPLE_LENGTH = 60


class TypeConflict(Exception):  # noqa: N818 - it is a finding about a file, under the contract's name
    """A known column has a type, or a value, that it cannot be read from."""


def as_text(name: str, array: pa.Array) -> pa.Array:
    """Return a column as text, as written; numbers and booleans by their usual spelling.

    Raises:
        TypeConflict: the values are structs, lists or maps, or bytes that are no UTF-8.

    """
    array = _plain_values(array)
    kind = array.type
    if pa.types.is_null(kind) or (pa.types.is_nested(kind) and array.null_count == len(array)):
        return pa.nulls(len(array), pa.string())
    if pa.types.is_nested(kind):
        raise TypeConflict(f"{name} is {kind}, which is no text")
    try:
        text = array if pa.types.is_string(kind) else array.cast(pa.string())
        text.validate(full=True)
    except pa.ArrowInvalid as error:
        raise TypeConflict(f"{name} has values that are not UTF-8 text ({first_line(error)})") from error
    except pa.ArrowNotImplementedError as error:
        raise TypeConflict(f"{name} is {kind}, which is no text") from error
    return text


def as_timestamp(name: str, array: pa.Array) -> pa.Array:
    """Return a column as UTC timestamps in microseconds.

    Timestamps without a zone are UTC; a date is its midnight; text is ISO 8601, blank text is null. Digits
    beyond the microsecond are cut off.

    Raises:
        TypeConflict: numbers or other types that are no time, text that is no timestamp, or a time outside
            the years 1 to 9999.

    """
    array = _plain_values(array)
    kind = array.type
    if array.null_count == len(array):
        return pa.nulls(len(array), TIMESTAMP)
    try:
        if pa.types.is_timestamp(kind):
            instants = array.cast(TIMESTAMP, safe=kind.unit != "ns")
        elif pa.types.is_date(kind):
            instants = array.cast(pa.timestamp("us")).cast(TIMESTAMP)
        elif _is_text(kind):
            instants = _parse_timestamps(name, as_text(name, array))
        else:
            raise TypeConflict(f"{name} is {kind}, which is no timestamp")
    except pa.ArrowInvalid as error:
        raise TypeConflict(f"{name} has a value that is no timestamp ({first_line(error)})") from error
    span = pc.min_max(instants.cast(pa.int64())).as_py()
    if span["min"] is not None and not _EARLIEST_US <= span["min"] <= span["max"] <= _LATEST_US:
        raise TypeConflict(f"{name} has a time outside the years 1 to 9999")
    return instants


def as_json_objects(columns: Mapping[str, pa.Array]) -> pa.Array:
    """Return one JSON object per row, of all the columns given (at least one), nulls included.

    Times become ISO 8601 text, bytes base64, decimals text and numbers that JSON lacks (NaN) text; a value
    that cannot be represented at all is null.
    """
    names = list(columns)
    rows = zip(*(_plain_list(array) for array in columns.values()), strict=True)
    return pa.array((dump_json(dict(zip(names, row, strict=True))) for row in rows), pa.string())


def dump_json(value: Any) -> str:
    """Return compact JSON, with text as it is rather than escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def first_line(error: BaseException, length: int = 300) -> str:
    """Return the first line of an error's message, bounded, for a ledger's detail."""
    lines = str(error).strip().splitlines()
    return (lines[0] if lines else type(error).__name__)[:length]


def _plain_values(array: pa.Array) -> pa.Array:
    """Undo the encodings under which Arrow may hand out a column."""
    if isinstance(array, pa.ExtensionArray):
        if isinstance(array.type, pa.UuidType):
            return pa.array([None if value is None else str(value) for value in array.to_pylist()])
        array = array.storage
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if pa.types.is_run_end_encoded(array.type):
        array = pc.run_end_decode(array)
    return array


def _is_text(kind: pa.DataType) -> bool:
    return bool(
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_string_view(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _parse_timestamps(name: str, text: pa.Array) -> pa.Array:
    trimmed = pc.utf8_trim_whitespace(text)
    trimmed = pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed)
    parts = pc.extract_regex(trimmed, _ISO_8601)
    unread = trimmed.filter(pc.and_(pc.is_valid(trimmed), pc.is_null(parts)))
    if len(unread):
        raise TypeConflict(
            f"{name} has a value that is no timestamp: '{unread[0].as_py()[:_EXAMPLE_LENGTH]}'"
        )

    def part(field: str, default: str = "00") -> pa.Array:
        found = pc.struct_field(parts, field)
        return pc.if_else(pc.equal(found, ""), default, found)

    micros = pc.utf8_slice_codeunits(pc.utf8_rpad(part("fraction", "0"), 6, "0"), 0, 6)
    dates = pc.binary_join_element_wise(part("year"), part("month"), part("day"), "-")
    times = pc.binary_join_element_wise(part("hour"), part("minute"), part("second"), ":")
    seconds = pc.binary_join_element_wise(dates, times, "T")
    local = pc.binary_join_element_wise(seconds, micros, ".").cast(pa.timestamp("us")).cast(pa.int64())
    zone_minutes = pc.add(
        pc.multiply(part("zone_hours").cast(pa.int64()), 60), part("zone_minutes").cast(pa.int64())
    )
    offset = pc.multiply(zone_minutes, 60_000_000)
    offset = pc.if_else(pc.equal(pc.struct_field(parts, "sign"), "-"), pc.negate(offset), offset)
    return pc.subtract(local, offset).cast(TIMESTAMP)


def _plain_list(array: pa.Array) -> Iterable[Any]:
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.string())
    try:
        return [_plain(value) for value in array.to_pylist()]
    except (ValueError, OverflowError):
        return [_plain_scalar(value) for value in array]


def _plain_scalar(scalar: pa.Scalar) -> Any:
    try:
        return _plain(scalar.as_py())
    except (ValueError, OverflowError):
        return None


def _plain(value: Any) -> Any:  # noqa: PLR0911 - one type a line
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return str(value)
