"""One file's bytes in, its rows and its outcome out: pure functions that executors run, file by file.

A reader yields record batches of one schema. The last row it yields is no row of the file but its outcome,
in the column ``_outcome``: so a file that turns out to be broken in its middle is known as such, and its
earlier rows are left out when the load is committed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synctrail import contract
from synctrail.columns import TIMESTAMP, TypeConflict, as_json_objects, as_text, as_timestamp, first_line
from synctrail.lake import parse_path
from synctrail.run_metadata import InvalidMetadata, parse_metadata

INTERNAL_ID = "census_sync_tracking_internal_id"

RECORDS_SCHEMA = pa.schema(
    {
        "file_key": pa.int64(),
        "row_no": pa.int64(),
        "internal_id": pa.string(),
        "record_identifier": pa.string(),
        "record_payload": pa.string(),
        "operation": pa.string(),
        "status": pa.string(),
        "status_message": pa.string(),
        "batch_started_at": TIMESTAMP,
        "batch_completed_at": TIMESTAMP,
        "_extra": pa.string(),
        "_outcome": pa.string(),
    }
)
RUN_METADATA_SCHEMA = pa.schema(
    {
        "file_key": pa.int64(),
        **{
            name: TIMESTAMP if name == "sync_run_started_at" else pa.string()
            for name in contract.RUN_METADATA_COLUMNS
        },
        "metadata": pa.string(),
        "_outcome": pa.string(),
    }
)
FACTS_SCHEMA = pa.schema(
    {
        "file_key": pa.int64(),
        "row_no": pa.int64(),
        **dict.fromkeys(contract.FACT_COLUMNS[contract.SOURCE_OBJECTS], pa.string()),
        "_outcome": pa.string(),
    }
)

_MAGIC = (b"PAR1", b"PARE")
_SMALLEST_PARQUET = 12
_REQUIRED = ("identifier", "operation", "status")
_TEXT_COLUMNS = {
    "record_identifier": "identifier",
    "record_payload": "record_payload",
    "operation": "operation",
    "status": "status",
    "status_message": "status_message",
}
_KNOWN_COLUMNS = {
    *_TEXT_COLUMNS.values(),
    INTERNAL_ID,
    "batch_started_at",
    "batch_ended_at",
    "batch_completed_at",
    "sync_configuration_id",
    "sync_run_id",
}
_BATCH_BYTES = 32 << 20
_BATCH_ROWS = 65_536


@dataclass(frozen=True)
class Outcome:
    """What became of one file: the facts that its ledger row is made of."""

    path: str
    status: str
    kind: str | None
    reason: str | None = None
    detail: str | None = None
    row_count: int | None = None

    def to_json(self) -> str:
        """Return the outcome as it travels in the column ``_outcome``."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Outcome:
        """Read what :meth:`to_json` wrote."""
        return cls(**json.loads(text))


class Quarantine(Exception):  # noqa: N818 - a finding about a file, not an error of the program
    """The file is bad, for one of the contract's reasons."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail


Rows = Generator[pa.RecordBatch, None, "Found"]


@dataclass(frozen=True)
class Found:
    """What a good file turned out to hold."""

    row_count: int
    kind: str


def file_key(path: str) -> int:
    """Return the 64-bit number by which the rows of one load refer to their file."""
    return int.from_bytes(hashlib.blake2b(path.encode(), digest_size=8).digest(), "big", signed=True)


def read_records(path: str, content: pa.Buffer) -> Iterator[pa.RecordBatch]:
    """Read a record file: rows in the order of the file, then its outcome."""
    return _with_outcome(path, content, RECORDS_SCHEMA, _record_rows)


def read_run_metadata(path: str, content: pa.Buffer) -> Iterator[pa.RecordBatch]:
    """Read a ``metadata.json``: one row, then its outcome."""
    return _with_outcome(path, content, RUN_METADATA_SCHEMA, _run_metadata_rows)


def read_facts(path: str, content: pa.Buffer) -> Iterator[pa.RecordBatch]:
    """Read a file of a fact table: rows in the order of the file, then its outcome with the kind it found."""
    return _with_outcome(path, content, FACTS_SCHEMA, _fact_rows)


def empty_file(path: str) -> Outcome:
    """Return the outcome of a file without a byte, which nobody has to read."""
    return Outcome(
        path, contract.QUARANTINED, _kind_by_name(path), contract.EMPTY_FILE, "the file has no bytes"
    )


def _kind_by_name(path: str) -> str | None:
    named = parse_path(path)
    return named.kind if named else None


def _with_outcome(
    path: str, content: pa.Buffer, schema: pa.Schema, read: Callable[[str, pa.Buffer], Rows]
) -> Iterator[pa.RecordBatch]:
    kind = _kind_by_name(path)
    try:
        if content.size == 0:
            outcome = empty_file(path)
        else:
            found = yield from read(path, content)
            outcome = Outcome(path, contract.LOADED, found.kind, row_count=found.row_count)
    except Quarantine as bad:
        outcome = Outcome(path, contract.QUARANTINED, kind, bad.reason, bad.detail)
    except Exception as error:  # noqa: BLE001 - whatever a reader raises on a file is that file's finding
        outcome = Outcome(path, contract.QUARANTINED, kind, contract.UNREADABLE, first_line(error))
    yield _batch(schema, 1, {"file_key": _constant(file_key(path), 1), "_outcome": [outcome.to_json()]})


def _record_rows(path: str, content: pa.Buffer) -> Rows:
    parquet = _open_parquet(content)
    names = parquet.schema_arrow.names
    problem: Quarantine | None = None
    if missing := [name for name in _REQUIRED if name not in names]:
        problem = Quarantine(contract.MISSING_COLUMNS, f"{', '.join(missing)} absent")
    internal_ids: pa.ChunkedArray | None = None
    if problem is None and INTERNAL_ID in names:
        try:
            internal_ids = _usable_ids(parquet)
        except TypeConflict as conflict:
            problem = Quarantine(contract.TYPE_CONFLICT, str(conflict))
    _, _, sync_id, sync_run_id, _ = path.split("/")
    identity = {"sync_configuration_id": sync_id, "sync_run_id": sync_run_id}
    key = file_key(path)
    row_no = 0
    others = None if internal_ids is None else [name for name in names if name != INTERNAL_ID]
    # Reading goes on after a problem, since a file that no reader gets through is unreadable before all else.
    for batch in bounded_batches(parquet, others):
        first_row, row_no = row_no, row_no + batch.num_rows
        if problem is not None and problem.reason != contract.IDENTITY_MISMATCH:
            continue
        try:
            columns = _record_columns(batch)
            problem = problem or _identity_problem(batch, identity)
        except TypeConflict as conflict:
            problem = Quarantine(contract.TYPE_CONFLICT, str(conflict))
        if problem is None:
            columns["file_key"] = _constant(key, batch.num_rows)
            columns["row_no"] = pa.array(np.arange(first_row, row_no, dtype="int64"))
            if internal_ids is not None:
                columns["internal_id"] = internal_ids.slice(first_row, batch.num_rows).combine_chunks()
            yield _batch(RECORDS_SCHEMA, batch.num_rows, columns)
    if problem is not None:
        raise problem
    return Found(row_no, contract.RECORDS)


def _record_columns(batch: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the columns of staging that come from a record file's own, internal id aside."""
    known: dict[str, pa.Array] = {}
    extra: dict[str, pa.Array] = {}
    for name, array in zip(batch.schema.names, batch.columns, strict=True):
        if name in _KNOWN_COLUMNS and name not in known:
            known[name] = array
        elif name != INTERNAL_ID:
            extra[_free_name(name, extra)] = array
    columns = {staged: as_text(name, known[name]) for staged, name in _TEXT_COLUMNS.items() if name in known}
    if "batch_started_at" in known:
        columns["batch_started_at"] = as_timestamp("batch_started_at", known["batch_started_at"])
    completed = [
        as_timestamp(name, known[name]) for name in ("batch_ended_at", "batch_completed_at") if name in known
    ]
    if completed:
        columns["batch_completed_at"] = pc.coalesce(*completed)
    if extra:
        columns["_extra"] = as_json_objects(extra)
    return columns


def _free_name(name: str, taken: dict[str, pa.Array]) -> str:
    """Return the key of a further column: a name that occurs twice gets ``#2``, ``#3`` behind it."""
    number = 2
    free = name
    while free in taken:
        free = f"{name}#{number}"
        number += 1
    return free


def _identity_problem(batch: pa.RecordBatch, identity: dict[str, str]) -> Quarantine | None:
    for name, expected in identity.items():
        position = batch.schema.names.index(name) if name in batch.schema.names else None
        if position is None:
            continue
        values = as_text(name, batch.column(position))
        others = values.filter(pc.not_equal(values, expected))
        if len(others):
            detail = f"{name} is '{others[0].as_py()}' in a row, '{expected}' in the path"
            return Quarantine(contract.IDENTITY_MISMATCH, detail)
    return None


def _usable_ids(parquet: pq.ParquetFile) -> pa.ChunkedArray:
    """Return the internal ids that identify a row: blank ones, and all that repeat in the file, are null."""
    column = parquet.read(columns=[INTERNAL_ID], use_threads=False).column(0)
    ids = pa.chunked_array([as_text(INTERNAL_ID, chunk) for chunk in column.chunks], pa.string())
    blank = pc.or_(pc.equal(ids, ""), pc.utf8_is_space(ids))
    if pc.any(blank).as_py():
        ids = pc.if_else(blank, pa.scalar(None, pa.string()), ids)
    if pc.count_distinct(ids).as_py() == len(ids) - ids.null_count:
        return ids
    counts = pc.value_counts(ids)
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    return pc.if_else(pc.is_in(ids, value_set=repeated), pa.scalar(None, pa.string()), ids)


def _run_metadata_rows(path: str, content: pa.Buffer) -> Rows:
    try:
        row = parse_metadata(content.to_pybytes())
    except InvalidMetadata as error:
        raise Quarantine(contract.INVALID_JSON, str(error)) from error
    except TypeConflict as conflict:
        raise Quarantine(contract.TYPE_CONFLICT, str(conflict)) from conflict
    columns: dict[str, Any] = {name: [value] for name, value in row.items()}
    yield _batch(RUN_METADATA_SCHEMA, 1, {**columns, "file_key": _constant(file_key(path), 1)})
    return Found(1, contract.RUN_METADATA)


def _fact_rows(path: str, content: pa.Buffer) -> Rows:
    table = pa.Table.from_batches(bounded_batches(parquet := _open_parquet(content)), parquet.schema_arrow)
    if "id" not in table.schema.names:
        raise Quarantine(contract.MISSING_COLUMNS, "id absent")
    columns: dict[str, Any] = {}
    try:
        for name in contract.FACT_COLUMNS[contract.SOURCE_OBJECTS]:
            if name in table.schema.names:
                column = table.column(table.schema.names.index(name)).combine_chunks()
                columns[name] = as_text(name, column)
    except TypeConflict as conflict:
        raise Quarantine(contract.TYPE_CONFLICT, str(conflict)) from conflict
    kind = _kind_by_name(path) or _kind_by_columns(columns)
    if kind is None:
        raise Quarantine(
            contract.MISSING_COLUMNS,
            "neither its name nor its columns tell which fact table this is"
            " (model_id and filter_segment_id, or a type of destinations)",
        )
    columns["file_key"] = _constant(file_key(path), table.num_rows)
    columns["row_no"] = pa.array(np.arange(table.num_rows, dtype="int64"))
    yield _batch(FACTS_SCHEMA, table.num_rows, columns)
    return Found(table.num_rows, kind)


def _kind_by_columns(columns: dict[str, Any]) -> str | None:
    if {"model_id", "filter_segment_id"} <= columns.keys():
        return contract.SOURCE_OBJECTS
    if "type" in columns:
        if pc.any(pc.match_substring(columns["type"], "::ObjectTypes::")).as_py():
            return contract.DESTINATION_OBJECTS
        if pc.any(pc.ends_with(columns["type"], "::Connection")).as_py():
            return contract.DESTINATIONS
    return None


def _open_parquet(content: pa.Buffer) -> pq.ParquetFile:
    view = memoryview(content)
    head, tail = bytes(view[:4]), bytes(view[-4:])
    if head not in _MAGIC:
        raise Quarantine(contract.NOT_PARQUET, f"the file begins with {head!r}, not with Parquet's PAR1")
    if tail not in _MAGIC or content.size < _SMALLEST_PARQUET:
        raise Quarantine(
            contract.TRUNCATED, f"the file ends after {content.size} bytes without Parquet's closing PAR1"
        )
    return pq.ParquetFile(
        pa.BufferReader(content),
        # INT96 counts nanoseconds of any day; as nanoseconds in 64 bits they would wrap around.
        coerce_int96_timestamp_unit="us",
        page_checksum_verification=True,
    )


def bounded_batches(parquet: pq.ParquetFile, columns: list[str] | None = None) -> Iterator[pa.RecordBatch]:
    """Yield a file's rows, or some columns of them, in batches of bounded size.

    Raises:
        Quarantine: the file holds fewer or more rows than its footer says.

    """
    footer = parquet.metadata
    size = sum(footer.row_group(group).total_byte_size for group in range(footer.num_row_groups))
    rows = max(1, min(_BATCH_ROWS, _BATCH_BYTES * footer.num_rows // max(1, size)))
    read = 0
    for batch in parquet.iter_batches(batch_size=rows, columns=columns, use_threads=False):
        read += batch.num_rows
        yield batch
    if read != footer.num_rows:
        detail = f"the footer promises {footer.num_rows} rows, the data hold {read}"
        raise Quarantine(contract.UNREADABLE, detail)


def _batch(schema: pa.Schema, rows: int, columns: dict[str, Any]) -> pa.RecordBatch:
    arrays = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            arrays.append(pa.nulls(rows, field.type))
        else:
            arrays.append(values if isinstance(values, pa.Array) else pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _constant(number: int, rows: int) -> pa.Array:
    return pa.repeat(pa.scalar(number, pa.int64()), rows)
