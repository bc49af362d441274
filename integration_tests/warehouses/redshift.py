"""Redshift: Postgres with look-alikes of what Redshift has and Postgres has not, behind the real adapter."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import redshift_connector.core
import redshift_connector.cursor

from warehouses.postgres import Postgres
from warehouses.redshift_sql import as_postgres

_LOOK_ALIKES = Path(__file__).with_name("redshift_look_alikes.sql")
# What the connector tells a server when a session starts, and Postgres refuses a session for.
_UNKNOWN_PARAMETERS = {
    b"client_protocol_version",
    b"driver_version",
    b"os_version",
    b"driver_discovery_version",
}
_LENGTH_BYTES = 4


class Redshift(Postgres):
    """A database of a Postgres of its own; this process talks to it as to Redshift."""

    target = "redshift"
    types = Postgres.types | {pa.string(): "varchar(65535)"}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        # sqlglot reads calls within calls by recursion, and an error's template is a hundred of them.
        sys.setrecursionlimit(100_000)
        with self._connection.cursor() as cursor:
            cursor.execute(_LOOK_ALIKES.read_text())
        redshift_connector.core.Connection._write = _StartUpWriter()
        execute = redshift_connector.cursor.Cursor.execute

        def execute_as_postgres(cursor: Any, operation: str, *arguments: Any, **options: Any) -> Any:
            return execute(cursor, as_postgres(operation), *arguments, **options)

        redshift_connector.cursor.Cursor.execute = execute_as_postgres

    def load(self, lake: Path) -> None:
        """Skip the test: the loader does not load into Redshift yet."""
        pytest.skip("the loader does not load into Redshift yet")


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
        return vars(connection)["_write"]


def _without_unknown_parameters(packet: bytes) -> bytes:
    """Return a start-up packet: the protocol's version, then names and values, each ended by a zero byte."""
    version, texts = packet[:_LENGTH_BYTES], packet[_LENGTH_BYTES:-2].split(b"\0")
    pairs = zip(texts[::2], texts[1::2], strict=True)
    kept = [name + b"\0" + value + b"\0" for name, value in pairs if name not in _UNKNOWN_PARAMETERS]
    return version + b"".join(kept) + b"\0"
