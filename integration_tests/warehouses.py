"""The warehouses that the integration project runs on, behind one small interface."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import duckdb
import pyarrow as pa
from staging_rows import TABLES

STAGING_SCHEMA = "census_lake"
MODEL_SCHEMA = "synctrail"

_ARROW_TYPES = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "int": pa.int32(),
    "bigint": pa.int64(),
}


class Warehouse(Protocol):
    """What a test needs of a warehouse."""

    target: str

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""

    def query(self, sql: str) -> list[dict[str, object]]:
        """Return the rows of a query; timestamps are aware, in UTC."""

    def reset(self) -> None:
        """Drop every table and view."""

    def close(self) -> None:
        """Release what the warehouse holds."""


def staging_table(name: str, rows: list[dict[str, object]]) -> pa.Table:
    """Return the rows of a staging table, with the types that the loader gives them."""
    schema = pa.schema([(column, _ARROW_TYPES[kind]) for column, kind in TABLES[name].items()])
    return pa.Table.from_pylist([{column: row.get(column) for column in TABLES[name]} for row in rows], schema)


class DuckDB:
    """A file of the embedded database."""

    target = "duckdb"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "warehouse.duckdb"

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""
        with duckdb.connect(self.path) as connection:
            connection.execute("set timezone = 'UTC'")
            connection.execute(f"create schema if not exists {STAGING_SCHEMA}")
            for name, rows in tables.items():
                connection.register("staged", staging_table(name, rows))
                columns = ", ".join(
                    f"cast({column} as timestamp) as {column}" if kind == "timestamp" else column
                    for column, kind in TABLES[name].items()
                )
                connection.execute(
                    f"create or replace table {STAGING_SCHEMA}.{name} as select {columns} from staged"
                )
                connection.unregister("staged")

    def query(self, sql: str) -> list[dict[str, object]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        with duckdb.connect(self.path) as connection:
            connection.execute(f"set schema = '{MODEL_SCHEMA}'")
            rows = connection.sql(sql).to_arrow_table().to_pylist()
        return [{name: _aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        with duckdb.connect(self.path) as connection:
            for schema in (STAGING_SCHEMA, MODEL_SCHEMA):
                connection.execute(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Nothing is held between calls."""


def _aware(value: object) -> object:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


WAREHOUSES: dict[str, type[Warehouse]] = {"duckdb": DuckDB}
