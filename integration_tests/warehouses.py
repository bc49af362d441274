"""The warehouses that the integration project runs on, behind one small interface."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import duckdb
import psycopg2
import psycopg2.extras
import pyarrow as pa
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from postgres_server import PostgresServer
from rich.console import Console
from staging_rows import TABLES

from synctrail.jars import delta_jars
from synctrail.load import load
from synctrail.progress import Reporter
from synctrail.spark_session import spark_session
from synctrail.warehouses.spark import SparkWarehouse

STAGING_SCHEMA = "census_lake"
MODEL_SCHEMA = "synctrail"

PROJECT = Path(__file__).parent
# The Delta jars that set-up brings into the checkout.
JARS = PROJECT.parent / ".cache" / "jars"

_ARROW_TYPES = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "int": pa.int32(),
    "bigint": pa.int64(),
}

_POSTGRES_TYPES = {
    pa.string(): "text",
    pa.timestamp("us", tz="UTC"): "timestamptz",
    pa.timestamp("us"): "timestamp",
    pa.int32(): "int",
    pa.int64(): "bigint",
}


class Warehouse(Protocol):
    """What a test needs of a warehouse."""

    target: str

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""

    def load(self, lake: Path) -> None:
        """Load what is new in a lake."""

    def write_tables(self, schema: str, tables: dict[str, pa.Table]) -> None:
        """Make a vendor's schema hold exactly these tables."""

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""

    def reset(self) -> None:
        """Drop every table and view."""

    def close(self) -> None:
        """Release what the warehouse holds."""


def staging_table(name: str, rows: list[dict[str, object]]) -> pa.Table:
    """Return the rows of a staging table, with the types that the loader gives them."""
    schema = pa.schema([(column, _ARROW_TYPES[kind]) for column, kind in TABLES[name].items()])
    return pa.Table.from_pylist(
        [{column: row.get(column) for column in TABLES[name]} for row in rows], schema
    )


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
        DuckDBConnectionManager.close_all_connections()  # type: ignore[no-untyped-call]
        command: list[str | Path] = [Path(sys.executable).parent / "synctrail", "load", lake]
        command += ["--project-dir", PROJECT, "--profiles-dir", PROJECT, "--target", self.target]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

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
        return [{name: _aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        with duckdb.connect(self.path) as connection:
            for schema in self.schemas:
                connection.execute(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Nothing is held between calls."""


def _aware(value: object) -> object:
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value


class Spark:
    """A local Spark with Delta tables and a metastore of its own."""

    target = "spark"

    def __init__(self, folder: Path) -> None:
        metastore = f"jdbc:derby:;databaseName={folder}/metastore"
        settings = {
            "spark.master": "local[2]",
            "spark.jars": ",".join(map(str, delta_jars(JARS))),
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": "1",
            "spark.sql.shuffle.partitions": "2",
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
            "spark.hadoop.javax.jdo.option.ConnectionURL": f"{metastore};create=true",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
            "spark.driver.memory": "2g",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
        }
        # As the loader starts it, which reads files in the same session.
        self.session = spark_session(settings, hive=True)
        self.session.sparkContext.setLogLevel("OFF")
        self.schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""
        self.session.sql(f"create schema if not exists {STAGING_SCHEMA}")
        for name, rows in tables.items():
            frame = self.session.createDataFrame(staging_table(name, rows))
            frame.coalesce(1).write.format("delta").mode("overwrite").saveAsTable(f"{STAGING_SCHEMA}.{name}")

    def load(self, lake: Path) -> None:
        """Load what is new in a lake, in the session that dbt uses too."""
        reporter = Reporter(Console(file=io.StringIO()))
        load(self.session, SparkWarehouse(STAGING_SCHEMA, {}), str(lake), reporter)

    def write_tables(self, schema: str, tables: dict[str, pa.Table]) -> None:
        """Make a vendor's schema hold exactly these tables."""
        self.schemas.add(schema)
        self.session.sql(f"drop schema if exists {schema} cascade")
        self.session.sql(f"create schema {schema}")
        for name, rows in tables.items():
            frame = self.session.createDataFrame(rows)
            frame.coalesce(1).write.format("delta").saveAsTable(f"{schema}.{name}")

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        self.session.sql(f"use {MODEL_SCHEMA}")
        rows = self.session.sql(sql).toArrow().to_pylist()
        return [{name: _aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        for schema in self.schemas:
            self.session.sql(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Stop the session."""
        self.session.stop()


class Postgres:
    """A database of a server of its own."""

    target = "postgres"

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
                columns = ", ".join(f'"{field.name}" {_POSTGRES_TYPES[field.type]}' for field in rows.schema)
                cursor.execute(f"create table if not exists {schema}.{name} ({columns})")
                cursor.execute(f"truncate {schema}.{name}")
                values = [tuple(row.values()) for row in rows.to_pylist()]
                insert = f"insert into {schema}.{name} values %s"
                psycopg2.extras.execute_values(cursor, insert, values)

    def load(self, lake: Path) -> None:
        """Not to be had yet: the loader has no Postgres."""
        raise NotImplementedError

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        with self._connection.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            cursor.execute(f"set search_path = {MODEL_SCHEMA}")
            cursor.execute(sql)
            rows = cursor.fetchall() if cursor.description else []
        return [{name: _aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        with self._connection.cursor() as cursor:
            for schema in self.schemas:
                cursor.execute(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Stop the server."""
        self._connection.close()
        self._server.stop()


WAREHOUSES: dict[str, Callable[[Path], Warehouse]] = {"duckdb": DuckDB, "postgres": Postgres, "spark": Spark}
