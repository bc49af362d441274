"""Amazon's connector, made to talk to a Postgres with look-alikes as if it were Redshift."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import redshift_connector.core
import redshift_connector.cursor
from pyarrow import fs

from warehouses.redshift_sql import as_postgres

LOOK_ALIKES = Path(__file__).with_name("redshift_look_alikes.sql").read_text()
S3_ENDPOINT = "SYNCTRAIL_TEST_S3_ENDPOINT"
"""Where the environment says which server is S3 to COPY."""
FORBIDDEN_ROLE = "arn:aws:iam::000000000000:role/nobody"
"""The one role that the cluster may not assume."""

# What the connector tells a server when a session starts, and Postgres refuses a session for.
_UNKNOWN_PARAMETERS = {
    b"client_protocol_version",
    b"driver_version",
    b"os_version",
    b"driver_discovery_version",
}
_LENGTH_BYTES = 4
_COPY = re.compile(
    r"copy (?P<table>\w+) from 's3://(?P<bucket>[^/']+)/(?P<prefix>[^']+)'"
    r" iam_role (?P<role>default|'arn:aws:iam::\d{12}:role/[^']+') format as parquet"
)
_VACUUM = re.compile(r"vacuum delete only (?P<table>.+) to 100 percent")
# What COPY takes from Parquet into a column. A time is no instant to Spectrum.
_COPIED = {
    "character varying": pa.string(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "timestamp without time zone": pa.timestamp("us", "UTC"),
}


def behave_as_redshift() -> None:
    """Let every connection that this process opens from now on understand what Redshift does."""
    # sqlglot reads calls within calls by recursion, and an error's template is a hundred of them.
    sys.setrecursionlimit(100_000)
    if isinstance(vars(redshift_connector.core.Connection).get("_write"), _StartUpWriter):
        return
    redshift_connector.core.Connection._write = _StartUpWriter()
    execute = redshift_connector.cursor.Cursor.execute

    def execute_as_postgres(cursor: Any, operation: str, *arguments: Any, **options: Any) -> Any:
        if copy := _COPY.fullmatch(operation):
            return _copy(cursor, execute, **copy.groupdict())
        if vacuum := _VACUUM.fullmatch(operation):
            return execute(cursor, f"vacuum {vacuum['table']}")
        if operation.startswith("set query_group "):
            return execute(cursor, "select 1")
        return execute(cursor, as_postgres(operation), *arguments, **options)

    redshift_connector.cursor.Cursor.execute = execute_as_postgres


class _RefusedError(Exception):
    """What Redshift says of a COPY that it does not execute."""


def _copy(
    cursor: Any, execute: Callable[..., Any], *, table: str, bucket: str, prefix: str, role: str
) -> Any:
    """Insert the rows of all files below a prefix into a temporary table, or refuse them as Redshift does."""
    execute(
        cursor,
        "select column_name, data_type, character_maximum_length from information_schema.columns"
        " where table_name = %s and table_schema like 'pg_temp%' order by ordinal_position",
        [table],
    )
    columns = cursor.fetchall()
    try:
        if role.strip("'") == FORBIDDEN_ROLE:
            raise _RefusedError(f"User is not authorized to assume IAM Role {role}")
        rows = [row for file in _files(bucket, prefix) for row in _rows(file, columns)]
    except _RefusedError as refused:
        # By the server, so that it ends the transaction as any other error does.
        refusal = str(refused).replace("'", "''").replace("%", "%%")
        return execute(cursor, f"do $refuse$ begin raise exception '{refusal}'; end $refuse$")
    return execute(
        cursor,
        f"insert into {table} select * from json_populate_recordset(null::{table}, %s)",
        [json.dumps(rows, default=str)],
    )


def _files(bucket: str, prefix: str) -> list[pq.ParquetFile]:
    endpoint = urlsplit(os.environ[S3_ENDPOINT])
    store = fs.S3FileSystem(
        access_key="x",
        secret_key="x",
        region="us-east-1",
        scheme=endpoint.scheme,
        endpoint_override=endpoint.netloc,
    )
    folder, _, beginning = f"{bucket}/{prefix}".rpartition("/")
    try:
        listed = store.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        found = [file.path for file in listed if file.base_name.startswith(beginning)]
        if not found:
            raise _RefusedError(f"The specified S3 prefix '{prefix}' does not exist")
        return [pq.ParquetFile(store.open_input_file(path)) for path in sorted(found)]
    except OSError as error:
        raise _RefusedError(f"S3ServiceException: {error}") from error


def _rows(file: pq.ParquetFile, columns: list[list[Any]]) -> list[dict[str, Any]]:
    """Return a file's rows by the names of a table's columns, which get them by their place."""
    fields = file.schema_arrow
    if len(fields) != len(columns):
        raise _RefusedError(
            f"Unmatched number of columns between table and file. Table columns: {len(columns)},"
            f" Data columns: {len(fields)}"
        )
    for field, (name, kind, _) in zip(fields, columns, strict=True):
        if field.type != _COPIED.get(kind):
            raise _RefusedError(
                f"Spectrum Scan Error. incompatible Parquet schema for column {name}. Column type: {kind},"
                f" Parquet schema: {field.type}"
            )
    names = [name for name, *_ in columns]
    rows = file.read().rename_columns(names)
    for name, _, longest in columns:
        if longest is None:
            continue
        for text in rows.column(name).to_pylist():
            if text is not None and len(text.encode()) > longest:
                raise _RefusedError(
                    f"Spectrum Scan Error. The length of the data column {name} is longer than the length"
                    f" defined in the table. Table: {longest}, Data: {len(text.encode())}"
                )
    return [dict(row) for row in rows.to_pylist()]


class _StartUpWriter:
    """What a connection writes to its socket by; of its start-up packet, it writes what Postgres knows."""

    def __set__(self, connection: Any, write: Callable[[bytes], object]) -> None:
        is_started = False

        def write_start_up(data: bytes) -> None:
            nonlocal is_started
            if is_started:
                write(data)
            elif len(data) > _LENGTH_BYTES:
                is_started = True
                packet = _without_unknown_parameters(bytes(data))
                write((len(packet) + _LENGTH_BYTES).to_bytes(_LENGTH_BYTES, "big") + packet)

        vars(connection)["_write"] = write_start_up

    def __get__(self, connection: Any, kind: type) -> object:
        return self if connection is None else vars(connection)["_write"]


def _without_unknown_parameters(packet: bytes) -> bytes:
    """Return a start-up packet: the protocol's version, then names and values, each ended by a zero byte."""
    version, texts = packet[:_LENGTH_BYTES], packet[_LENGTH_BYTES:-2].split(b"\0")
    pairs = zip(texts[::2], texts[1::2], strict=True)
    kept = [name + b"\0" + value + b"\0" for name, value in pairs if name not in _UNKNOWN_PARAMETERS]
    return version + b"".join(kept) + b"\0"
