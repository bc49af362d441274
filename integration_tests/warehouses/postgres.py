"""Postgres: a database of a server that starts and ends with the tests."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, ClassVar

import psycopg2
import psycopg2.extras
import pyarrow as pa

from warehouses.postgres_server import PostgresServer
from warehouses.warehouse import MODEL_SCHEMA, STAGING_SCHEMA, aware, load_by_command, staging_table


class Postgres:
    """A database of a server of its own."""

    target = "postgres"
    types: ClassVar[dict[pa.DataType, str]] = {
        pa.string(): "text",
        pa.timestamp("us", tz="UTC"): "timestamptz",
        pa.timestamp("us"): "timestamp",
        pa.int32(): "int",
        pa.int64(): "bigint",
    }

    def __init__(self, folder: Path) -> None:
        self._server = PostgresServer()
        os.environ["SYNCTRAIL_TEST_POSTGRES_PORT"] = str(self._server.port)
        self._connection = psycopg2.connect(
            host="127.0.0.1", port=self._server.port, user="postgres", dbname="postgres"
        )
        self._connection.autocommit = True
        self.schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""
        self._write(STAGING_SCHEMA, {name: staging_table(name, rows) for name, rows in tables.items()})

    def write_tables(self, schema: str, tables: dict[str, pa.Table]) -> None:
        """Make a vendor's schema hold exactly these tables."""
        self.schemas.add(schema)
        with self._connection.cursor() as cursor:
            cursor.execute(f"drop schema if exists {schema} cascade")
        self._write(schema, tables)

    def _write(self, schema: str, tables: dict[str, pa.Table]) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(f"create schema if not exists {schema}")
            for name, rows in tables.items():
                columns = ", ".join(f'"{field.name}" {self.types[field.type]}' for field in rows.schema)
                cursor.execute(f"create table if not exists {schema}.{name} ({columns})")
                cursor.execute(f"truncate {schema}.{name}")
                values = [tuple(row.values()) for row in rows.to_pylist()]
                insert = f"insert into {schema}.{name} values %s"
                psycopg2.extras.execute_values(cursor, insert, values)

    def load(self, lake: Path) -> None:
        """Load what is new in a lake, by the command."""
        load_by_command(lake, self.target)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        with self._connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(f"set search_path = {MODEL_SCHEMA}")
            cursor.execute(sql)
            rows = cursor.fetchall() if cursor.description else []
        return [{name: aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        with self._connection.cursor() as cursor:
            for schema in self.schemas:
                cursor.execute(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Stop the server."""
        self._connection.close()
        self._server.stop()
