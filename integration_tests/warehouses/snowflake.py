"""Snowflake: fakesnow's server, which understands Snowflake's SQL and protocol, on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import snowflake.connector

from warehouses.snowflake_process import SnowflakeProcess
from warehouses.warehouse import MODEL_SCHEMA, STAGING_SCHEMA, aware, load_by_command, staging_table

_TYPES = {
    pa.string(): "varchar",
    pa.timestamp("us", tz="UTC"): "timestamp_tz",
    pa.timestamp("us"): "timestamp_ntz",
    pa.int32(): "int",
    pa.int64(): "bigint",
}


class Snowflake:
    """A database of a server of its own, in a process of its own."""

    target = "snowflake"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._server = SnowflakeProcess(folder)
        os.environ["SYNCTRAIL_TEST_SNOWFLAKE_PORT"] = str(self._server.port)
        self._connection = snowflake.connector.connect(
            account="fakesnow",
            host="127.0.0.1",
            port=self._server.port,
            protocol="http",
            user="test",
            password="test",
            database="synctrail_test",
            network_timeout=300,
        )
        self.schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""
        self._write(STAGING_SCHEMA, {name: staging_table(name, rows) for name, rows in tables.items()})

    def write_tables(self, schema: str, tables: dict[str, pa.Table]) -> None:
        """Make a vendor's schema hold exactly these tables."""
        self.schemas.add(schema)
        self._execute(f"drop schema if exists {schema} cascade")
        self._write(schema, tables)

    def _write(self, schema: str, tables: dict[str, pa.Table]) -> None:
        self._execute(f"create schema if not exists {schema}")
        self._execute(f"create or replace stage {schema}.written")
        for name, rows in tables.items():
            columns = ", ".join(f"{field.name} {_TYPES[field.type]}" for field in rows.schema)
            self._execute(f"create or replace table {schema}.{name} ({columns})")
            file = self._folder / f"{name}.parquet"
            pq.write_table(rows, file)
            self._execute(f"put 'file://{file}' @{schema}.written/{name} overwrite = true")
            self._execute(
                f"copy into {schema}.{name} from @{schema}.written/{name}"
                " file_format = (type = parquet) match_by_column_name = case_insensitive"
            )

    def load(self, lake: Path) -> None:
        """Load what is new in a lake, by the command."""
        load_by_command(lake, self.target)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC; names are in lower case."""
        self._execute(f"use schema {MODEL_SCHEMA}")
        with self._connection.cursor(snowflake.connector.DictCursor) as cursor:
            rows = cursor.execute(sql).fetchall()
        return [{name.lower(): aware(value) for name, value in row.items()} for row in rows]

    def _execute(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def reset(self) -> None:
        """Drop every table and view."""
        for schema in self.schemas:
            self._execute(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Stop the server."""
        self._connection.close()
        self._server.stop()
