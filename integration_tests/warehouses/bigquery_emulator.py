"""A throw-away BigQuery emulator on a free port of this machine: bqemulator, patched, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path


class BigQueryEmulator:
    """An emulator of its own, which holds its tables in memory and logs into a folder."""

    def __init__(self, folder: Path) -> None:
        self.port, grpc_port = _free_ports(2)
        self._log = (folder / "emulator.log").open("wb")
        self._process = subprocess.Popen(
            [
                sys.executable, __file__, "start",
                "--rest-port", str(self.port), "--grpc-port", str(grpc_port),
                "--project", "synctrail", "--log-level", "error",
            ],
            stdout=self._log,
            stderr=subprocess.STDOUT,
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


# What DuckDB's own functions do otherwise than BigQuery's: json_keys writes a key with a point or an escape in it as a
# JSON string, and a key between brackets is a key, even where it looks like a path.
_JSON_MACROS = """
create macro bigquery_json_keys(object) as list_transform(
    json_keys(object),
    lambda key: case when contains(key, '.') or cast(to_json(key) as varchar) <> '"' || key || '"'
        then cast(to_json(key) as varchar) else key end
);
create macro bigquery_json_field(object, key) as
    json_extract(object, '$.*')[list_position(json_keys(object), key)];
"""


def serve() -> None:
    """Run the emulator as it is wanted here, until it is told to end."""
    from bqemulator.cli import main  # noqa: PLC0415
    from bqemulator.sql.rewriter import create_table_schema_ctas  # noqa: PLC0415
    from bqemulator.sql.rules import json_helpers, register  # noqa: PLC0415
    from bqemulator.sql.rules._base import TranslationRule  # noqa: PLC0415
    from bqemulator.storage.engine import DuckDBEngine  # noqa: PLC0415
    from sqlglot import exp  # noqa: PLC0415

    # In the place of the extension for GEOGRAPHY, which DuckDB would download; nothing here is geographic.
    DuckDBEngine._load_spatial = lambda engine: engine._connection.execute(_JSON_MACROS)

    json_helpers.JSONKeysRule.rewrite = lambda rule, node: exp.Anonymous(
        this="bigquery_json_keys", expressions=[node.this.copy()]
    )

    @register
    class JSONFieldRule(TranslationRule):
        """The field of a JSON value that a column names: places in arrays are literals or calculated here."""

        name = "JSON_FIELD"

        def applies_to(self, node: exp.Expression) -> bool:
            return isinstance(node, exp.Bracket) and isinstance(node.expressions[0], exp.Column)

        def rewrite(self, node: exp.Expression) -> exp.Expression:
            return exp.Anonymous(
                this="bigquery_json_field", expressions=[node.this.copy(), node.expressions[0].copy()]
            )

    @register
    class JSONArrayRule(TranslationRule):
        """json_query_array of what is no array is null, where DuckDB's cast fails."""

        name = "JSON_ARRAY"

        def applies_to(self, node: exp.Expression) -> bool:
            return type(node) is exp.Cast and node.to == exp.DataType.build("json[]", dialect="duckdb")

        def rewrite(self, node: exp.Expression) -> exp.Expression:
            return exp.TryCast(this=node.this.copy(), to=node.to.copy())

    # dbt writes the query of a table with a contract in parentheses, where the emulator looks for a bare one.
    first_select = create_table_schema_ctas._first_select

    def first_select_in_parentheses(body: exp.Expression) -> object:
        while isinstance(body, exp.Subquery | exp.Paren):
            body = body.this
        return first_select(body)

    create_table_schema_ctas._first_select = first_select_in_parentheses
    main()


if __name__ == "__main__":
    serve()
