"""Record files: a run's attempts as Parquet, in the columns, names and encodings of their era."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synctrail.sample_lake.history import NO_RECORD, OPERATIONS, STATUSES, Attempts, Form, Refusal
from synctrail.sample_lake.messages import REFUSALS, Refused, render
from synctrail.sample_lake.payloads import (
    broken,
    email_texts,
    identifier_texts,
    key_only_texts,
    payload_texts,
    spelling,
    without_key,
)
from synctrail.sample_lake.population import Population, scramble
from synctrail.sample_lake.schedule import Era, Run

Times = npt.NDArray[np.datetime64]

UPDATED = "records_updated"
DELETED = "records_deleted"

_SENT_AT_ONCE = 2_000
_SENDINGS_OF_A_FILE = 3
_SHARE_OF_SENDING = 0.9
_DICTIONARY_COLUMNS = [
    "operation",
    "status",
    "status_message",
    "batch_started_at",
    "batch_ended_at",
    "batch_completed_at",
    "sync_configuration_id",
    "sync_run_id",
]


@dataclass(frozen=True)
class TimeEncoding:
    """One way to write a timestamp in Parquet."""

    type: pa.DataType
    as_int96: bool = False
    text_format: str | None = None


TIME_ENCODINGS = (
    TimeEncoding(pa.timestamp("us", "UTC")),
    TimeEncoding(pa.string(), text_format="%Y-%m-%dT%H:%M:%S.%fZ"),
    TimeEncoding(pa.timestamp("ms", "UTC")),
    TimeEncoding(pa.timestamp("ns"), as_int96=True),
    TimeEncoding(pa.timestamp("us")),
    TimeEncoding(pa.timestamp("ns", "UTC")),
    TimeEncoding(pa.string(), text_format="%Y-%m-%d %H:%M:%S.%f+00:00"),
    TimeEncoding(pa.timestamp("ms")),
    TimeEncoding(pa.timestamp("ns")),
)


@dataclass(frozen=True)
class RecordFile:
    """Which rows of a run a file holds."""

    name: str
    first: int
    end: int


def write_records(
    folder: Path, run: Run, attempts: Attempts, population: Population, rows_per_file: int
) -> Iterator[int]:
    """Write a run's record files and yield the number of rows of each."""
    started, ended = _sendings(run, attempts, rows_per_file)
    for file in _split(run, attempts, rows_per_file):
        rows = slice(file.first, file.end)
        writer = _FileWriter(run, attempts, population, rows)
        table = writer.table(started[rows], ended[rows])
        path = folder / file.name
        encoding = _time_encoding(run)
        pq.write_table(
            table,
            path,
            compression="snappy",
            use_dictionary=[name for name in _DICTIONARY_COLUMNS if name in table.column_names],
            use_deprecated_int96_timestamps=encoding.as_int96,
            store_schema=False,
            row_group_size=max(1, file.end - file.first),
            write_page_index=False,
        )
        set_modified(path, ended[file.end - 1].astype("datetime64[ms]").astype(dt.datetime))
        yield file.end - file.first


def set_modified(path: Path, moment: dt.datetime) -> None:
    """Set a file's modification time; a moment without zone is UTC."""
    nanoseconds = round(moment.replace(tzinfo=dt.UTC).timestamp() * 1_000) * 1_000_000
    os.utime(path, ns=(nanoseconds, nanoseconds))


def _split(run: Run, attempts: Attempts, rows_per_file: int) -> Iterator[RecordFile]:
    count = len(attempts.record)
    for batch_type, first, end in (
        (UPDATED, 0, attempts.removed_from),
        (DELETED, attempts.removed_from, count),
    ):
        files = -(-(end - first) // rows_per_file)
        edges = [first + (end - first) * part // max(1, files) for part in range(files + 1)]
        # Until 2025-11 the documents named files without a number.
        numbered = files > 1 or run.era is Era.IDS_IN_ROWS or run.ordinal % 2 == 1
        for number in range(files):
            name = f"{batch_type}.{number}.parquet" if numbered else f"{batch_type}.parquet"
            yield RecordFile(name, edges[number], edges[number + 1])


def _sendings(run: Run, attempts: Attempts, rows_per_file: int) -> tuple[Times, Times]:
    """Return when the request with each row began and ended; second attempts go out in later requests."""
    count = len(attempts.record)
    size = max(1, min(_SENT_AT_ONCE, -(-min(count, rows_per_file) // _SENDINGS_OF_A_FILE)))
    row = np.arange(count)
    request = row // size
    request += (row >= attempts.again_from).astype(np.int64)
    request += (row >= attempts.removed_from).astype(np.int64)
    first = np.datetime64(run.started_at.replace(tzinfo=None), "ms") + np.timedelta64(4_000, "ms")
    milliseconds = (run.duration / dt.timedelta(milliseconds=1)) / (int(request[-1]) + 1)
    began = first + (request * milliseconds).astype(np.int64).astype("timedelta64[ms]")
    return began, began + np.timedelta64(int(milliseconds * _SHARE_OF_SENDING), "ms")


def _time_encoding(run: Run) -> TimeEncoding:
    era = list(Era).index(run.era)
    return TIME_ENCODINGS[(run.ordinal + 4 * era) % len(TIME_ENCODINGS)]


class _FileWriter:
    """Builds the table of one file from some rows of a run."""

    def __init__(self, run: Run, attempts: Attempts, population: Population, rows: slice) -> None:
        self._run = run
        self._population = population
        self._first = rows.start
        self._record = attempts.record[rows]
        strangers = np.arange(rows.start, rows.stop) % len(population.state)
        self._known = np.where(self._record == NO_RECORD, strangers, self._record)
        self._operation = attempts.operation[rows]
        self._status = attempts.status[rows]
        self._refusal = attempts.refusal[rows]
        self._form = attempts.form[rows]

    def table(self, started: Times, ended: Times) -> pa.Table:
        """Return the file's rows, in the columns of its era and in an order of the run's own."""
        run, count = self._run, len(self._record)
        identifiers = identifier_texts(run.sync.key, self._population, self._known)
        columns = {
            "identifier": self._identifiers(identifiers),
            "record_payload": self._payloads(identifiers),
            "operation": pa.array(OPERATIONS).take(pa.array(self._operation)),
            "status": pa.array(STATUSES).take(pa.array(self._status)),
            "status_message": self._messages(identifiers),
            "batch_started_at": self._times(started if run.is_timed else None, count),
            self._ended_name(): self._times(ended, count),
        }
        if run.era is Era.INTERNAL_ID:
            rows = pa.array(np.arange(self._first, self._first + count)).cast(pa.string())
            columns["census_sync_tracking_internal_id"] = pc.binary_join_element_wise(
                str(run.sync_run_id), pc.utf8_lpad(rows, 9, "0"), "-"
            )
        if run.era is Era.IDS_IN_ROWS:
            columns["sync_configuration_id"] = self._path_id(run.sync.sync_id, count)
            columns["sync_run_id"] = self._path_id(run.sync_run_id, count)
        if run.sync.unknown_columns and run.number % 2 == 1:
            columns["api_request_id"] = self._request_ids()
            columns["retry_count"] = pa.array(np.minimum(self._known % 7, 2).astype(np.int32))
        order = np.random.default_rng([self._run.ordinal, run.number]).permutation(len(columns))
        names = list(columns)
        return pa.table({names[place]: columns[names[place]] for place in order})

    def _ended_name(self) -> str:
        return "batch_completed_at" if self._run.ordinal % 3 == 1 else "batch_ended_at"

    def _identifiers(self, identifiers: pa.Array) -> pa.Array:
        nobody = self._record == NO_RECORD
        if self._writes_integers():
            return pc.if_else(pa.array(nobody), pa.scalar(None, pa.int64()), identifiers.cast(pa.int64()))
        named = pc.if_else(pa.array(nobody), pa.scalar(None, pa.string()), identifiers)
        return pc.if_else(pa.array(self._form == Form.BLANK_KEY), "", named)

    def _writes_integers(self) -> bool:
        return self._run.sync.integer_identifiers and self._run.number % 3 != 1

    def _payloads(self, identifiers: pa.Array) -> pa.Array:
        run = self._run
        payloads = payload_texts(
            run.sync.shape,
            run.sync.key,
            self._population,
            self._known,
            style=spelling(run.number, run.started_at),
            first_row=self._first,
        )
        if np.any(self._form == Form.KEY_ONLY):
            bare = key_only_texts(run.sync.key, identifiers)
            payloads = pc.if_else(pa.array(self._form == Form.KEY_ONLY), bare, payloads)
        odd = np.flatnonzero((self._form != Form.WHOLE) & (self._form != Form.KEY_ONLY))
        if len(odd) == 0:
            return payloads
        replacements = [self._odd_payload(row, payloads[row].as_py()) for row in odd.tolist()]
        mask = np.zeros(len(self._form), np.bool_)
        mask[odd] = True
        return pc.replace_with_mask(payloads, pa.array(mask), pa.array(replacements, pa.string()))

    def _odd_payload(self, row: int, payload: str) -> str | None:
        key = self._run.sync.key
        match Form(self._form[row]):
            case Form.BROKEN:
                return broken(payload)
            case Form.ARRAY:
                return f"[{payload}]"
            case Form.SCALAR:
                return str(self._first + row)
            case Form.NULL_KEY:
                return without_key(key, payload, None)
            case Form.BLANK_KEY:
                return without_key(key, payload, "")
        return None

    def _messages(self, identifiers: pa.Array) -> pa.Array:
        refused = np.flatnonzero(self._refusal != Refusal.NONE)
        texts = np.full(len(self._refusal), None, object)
        if len(refused):
            emails = email_texts(self._population, self._known[refused]).to_pylist()
            named = identifiers.take(pa.array(refused)).to_pylist()
            salts = scramble(refused + self._first, self._run.sync_run_id).tolist()
            numbers = self._population.numbers(self._known[refused]).tolist()
            for place, row in enumerate(refused.tolist()):
                texts[row] = render(
                    self._message(int(self._refusal[row])),
                    Refused(named[place], emails[place], numbers[place], row % 100, salts[place]),
                )
        return pa.array(texts, pa.string())

    def _message(self, refusal: int) -> str:
        refusals = REFUSALS[self._run.sync.destination.service]
        if refusal >= Refusal.OUTAGE:
            return refusals.outage
        if refusal >= Refusal.PASSING:
            return refusals.passing[(refusal - Refusal.PASSING) % len(refusals.passing)]
        return refusals.lasting[refusal]

    def _times(self, times: Times | None, count: int) -> pa.Array:
        encoding = _time_encoding(self._run)
        if times is None:
            return pa.nulls(count, encoding.type)
        if encoding.text_format is None:
            return pa.array(times).cast(pa.timestamp(encoding.type.unit)).cast(encoding.type)
        distinct, places = np.unique(times, return_inverse=True)
        texts = [moment.strftime(encoding.text_format) for moment in distinct.astype(dt.datetime)]
        return pa.array(texts).take(pa.array(places))

    def _path_id(self, number: int, count: int) -> pa.Array:
        return pa.repeat(number if self._run.sync.org.integer_ids else str(number), count)

    def _request_ids(self) -> pa.Array:
        requests = np.arange(self._first, self._first + len(self._record)) // 100
        return pc.binary_join_element_wise(
            "req", str(self._run.sync_run_id), pa.array(requests).cast(pa.string()), "_"
        )
