"""DuckDB: a file of the embedded database."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from staging_rows import TABLES

from warehouses.warehouse import MODEL_SCHEMA, STAGING_SCHEMA, aware, load_by_command, staging_table


class DuckDB:
    """A file of the embedded database."""

    target = "duckdb"

    def __init__(self, folder: Path) -> None:
        self.path = folder / "warehouse.duckdb"
        self.schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

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

    def load(self, lake: Path) -> None:
        """Load what is new in a lake, by the command; dbt in this process must leave the file to it."""
        self.close()
        load_by_command(lake, self.target)

    def write_tables(self, schema: str, tables: dict[str, pa.Table]) -> None:
        """Make a vendor's schema hold exactly these tables."""
        self.schemas.add(schema)
        with duckdb.connect(self.path) as connection:
            connection.execute("set timezone = 'UTC'")
            connection.execute(f"drop schema if exists {schema} cascade")
            connection.execute(f"create schema {schema}")
            for name, rows in tables.items():
                connection.register("written", rows)
                connection.execute(f"create table {schema}.{name} as select * from written")
                connection.unregister("written")

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        with duckdb.connect(self.path) as connection:
            connection.execute(f"set schema = '{MODEL_SCHEMA}'")
            rows = connection.sql(sql).to_arrow_table().to_pylist()
        return [{name: aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        with duckdb.connect(self.path) as connection:
            for schema in self.schemas:
                connection.execute(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Let dbt in this process close the file."""
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
