"""A throw-away BigQuery emulator on a free port of this machine: bqemulator, in a process of its own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path


class BigQueryEmulator:
    """An emulator of its own, which holds its tables in memory and logs into a folder.

    What it takes for Cloud Storage is in the folder's ``storage``, a folder for each bucket.
    """

    def __init__(self, folder: Path) -> None:
        self.port, grpc_port = _free_ports(2)
        self.storage = folder / "storage"
        self.storage.mkdir()
        self._log = (folder / "emulator.log").open("wb")
        self._process = subprocess.Popen(
            [
                sys.executable, __file__, "start",
                "--rest-port", str(self.port), "--grpc-port", str(grpc_port),
                "--project", "synctrail", "--log-level", "error",
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
            env={**os.environ, "BQEMU_GCS_LOCAL_ROOT": str(self.storage)},
        )  # fmt: skip
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None and time.monotonic() < deadline, "the emulator does not start"
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True

    def stop(self) -> None:
        """Stop the emulator."""
        self._process.terminate()
        self._process.wait()
        self._log.close()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for free in sockets:
        free.bind(("127.0.0.1", 0))
    ports = [int(free.getsockname()[1]) for free in sockets]
    for free in sockets:
        free.close()
    return ports


# BigQuery's JSON functions, where DuckDB's differ: json_keys writes a key with a point or an escape in it as
# a JSON string, json_query_array of what is no array is null, a key between brackets may look like a path.
_JSON_MACROS = """
create macro bigquery_json_keys(object) as list_transform(
    json_keys(object),
    lambda key: case when contains(key, '.') or cast(to_json(key) as varchar) <> '"' || key || '"'
        then cast(to_json(key) as varchar) else key end
);
create macro bigquery_json_items(json) as
    case when json_type(json) = 'ARRAY' then json_extract(json, '$[*]') end;
create macro bigquery_json_field(object, key) as
    json_extract(object, '$.*')[list_position(json_keys(object), key)];
"""


def serve() -> None:
    """Run the emulator as it is wanted here, until it is told to end."""
    from bqemulator.api import errors  # noqa: PLC0415
    from bqemulator.cli import main  # noqa: PLC0415
    from bqemulator.domain.errors import ValidationError  # noqa: PLC0415
    from bqemulator.sql.rewriter import create_table_schema_ctas  # noqa: PLC0415
    from bqemulator.storage.engine import DuckDBEngine  # noqa: PLC0415
    from sqlglot import exp  # noqa: PLC0415
    from sqlglot.generators.duckdb import DuckDBGenerator  # noqa: PLC0415

    # In the place of the extension for GEOGRAPHY, which DuckDB would download; nothing here is geographic.
    DuckDBEngine._load_spatial = lambda engine: engine._connection.execute(_JSON_MACROS)

    def bracket_sql(generator: DuckDBGenerator, bracket: exp.Bracket) -> str:
        # Where a column stands between brackets, it names a field: places in arrays are calculated here.
        if isinstance(bracket.expressions[0], exp.Column):
            return str(generator.func("bigquery_json_field", bracket.this, bracket.expressions[0]))
        return str(generator.bracket_sql(bracket))

    DuckDBGenerator.TRANSFORMS.update({
        exp.JSONKeysAtDepth: lambda generator, keys: generator.func("bigquery_json_keys", keys.this),
        exp.JSONExtractArray: lambda generator, items: generator.func("bigquery_json_items", items.this),
        exp.Bracket: bracket_sql,
    })  # fmt: skip

    # dbt writes the query of a table with a contract in parentheses, where the emulator looks for a bare one.
    first_select = create_table_schema_ctas._first_select

    def first_select_in_parentheses(body: exp.Expression) -> object:
        while isinstance(body, exp.Subquery | exp.Paren):
            body = body.this
        return first_select(body)

    create_table_schema_ctas._first_select = first_select_in_parentheses

    # Clients ask again, for ten minutes, where a server says that the fault is its own.
    errors.InternalError = lambda _: ValidationError("The emulator cannot run this; its log says why.")

    # The template of an error is ninety calls, each within the next.
    sys.setrecursionlimit(50_000)
    threading.stack_size(512 * 1024 * 1024)
    main()


if __name__ == "__main__":
    serve()
