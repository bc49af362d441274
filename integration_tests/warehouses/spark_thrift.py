"""Spark behind its Thrift server, which dbt-spark reaches by its method thrift, with a metastore."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyhive import hive

from synctrail.jars import thrift_jars
from warehouses.hive_metastore import HiveMetastore
from warehouses.little_data import as_options
from warehouses.local_server import LocalServer, free_port
from warehouses.spark_catalog import (
    CACHE,
    delta_settings,
    drop_iceberg_tables,
    iceberg_settings,
    local_settings,
)
from warehouses.warehouse import MODEL_SCHEMA, STAGING_SCHEMA, aware, staging_table

_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"


class SparkThrift:
    """A Thrift server and a metastore of its own, on a local Spark with Delta tables.

    Tables of rows come to it, and answers from it, as Parquet files in the folder: what a client of Hive
    makes of types is no matter of the package.
    """

    target = "spark_thrift"
    file_format = "delta"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._metastore = HiveMetastore(folder)
        port = free_port()
        os.environ["SYNCTRAIL_TEST_THRIFT_PORT"] = str(port)
        home = Path(pyspark.__file__).parent
        settings = {
            **local_settings(folder),
            **self._metastore.spark_settings(),
            **self._format_settings(),
        }
        # Threads of the server that Hive's code starts see the classes of the class path alone.
        jars = [settings.pop("spark.jars"), *map(str, thrift_jars(CACHE / "thrift-jars"))]
        settings["spark.driver.extraClassPath"] = ",".join(jars).replace(",", os.pathsep)
        command: list[str | Path] = [
            home / "bin" / "spark-submit", "--class", _SERVER, *as_options(settings), "spark-internal",
            "--hiveconf", f"hive.server2.thrift.port={port}",
            "--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1",
        ]  # fmt: skip
        environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
        log = folder / "thrift.log"
        # spark-submit becomes Java: this is the server's own process.
        self._server = LocalServer(command, port, log, cwd=folder, env=environment)
        self._connection = hive.connect("127.0.0.1", port)
        self._schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

    def _format_settings(self) -> dict[str, str]:
        return delta_settings()

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""
        self._execute(f"create schema if not exists {STAGING_SCHEMA}")
        for name, rows in tables.items():
            self._write(f"{STAGING_SCHEMA}.{name}", staging_table(name, rows))

    def load(self, lake: Path) -> None:
        """Refuse: a load runs in a session of its own, and this metastore serves one process alone."""
        raise NotImplementedError(f"{lake} cannot be loaded through a Thrift server")

    def write_tables(self, schema: str, tables: dict[str, pa.Table]) -> None:
        """Make a vendor's schema hold exactly these tables."""
        self._schemas.add(schema)
        self._execute(f"drop schema if exists {schema} cascade")
        self._execute(f"create schema {schema}")
        for name, rows in tables.items():
            self._write(f"{schema}.{name}", rows)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        answer = self._folder / "answer"
        self._execute(f"use {MODEL_SCHEMA}")
        query = sql.strip().removesuffix(";")
        with self._connection.cursor() as cursor:
            cursor.execute(f"describe query {query}")
            names = [name for name, *_ in cursor.fetchall()]
        # A file cannot have two columns of one name, as the answer to a join may.
        places = ", ".join(f"column_{place}" for place in range(len(names)))
        named = f"select * from (\n{query}\n) as answer({places})"
        self._execute(f"insert overwrite directory '{answer}' using parquet {named}")
        rows = pq.read_table(answer).to_pylist()
        return [dict(zip(names, map(aware, row.values()), strict=True)) for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        for schema in self._schemas:
            self._execute(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Stop the server."""
        self._connection.close()
        self._server.stop()
        self._metastore.stop()

    def _write(self, table: str, rows: pa.Table) -> None:
        given = self._folder / "given"
        shutil.rmtree(given, ignore_errors=True)
        given.mkdir()
        pq.write_table(rows, given / "rows.parquet")
        self._execute(
            f"create or replace table {table} using {self.file_format} as select * from parquet.`{given}`"
        )

    def _execute(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)


class SparkThriftIceberg(SparkThrift):
    """The same with Iceberg tables."""

    target = "spark_thrift_iceberg"
    file_format = "iceberg"

    def _format_settings(self) -> dict[str, str]:
        return iceberg_settings()

    def reset(self) -> None:
        """Drop every table and view."""
        drop_iceberg_tables(self._schemas, self._ask)
        super().reset()

    def _ask(self, sql: str) -> list[dict[str, Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)
            names = [name for name, *_ in cursor.description or []]
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()] if names else []
