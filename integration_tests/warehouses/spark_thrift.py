"""Spark behind its Thrift server, a process of its own, which dbt-spark reaches by its method thrift."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
from pyhive import hive

from warehouses.free_port import free_port
from warehouses.little_data import as_options
from warehouses.spark_catalog import delta_settings, local_settings
from warehouses.warehouse import MODEL_SCHEMA, STAGING_SCHEMA, aware, staging_table

_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_START_SECONDS = 120


class SparkThrift:
    """A Thrift server of its own on a local Spark with Delta tables.

    Tables of rows come to it, and answers from it, as Parquet files in the folder: what a client of Hive
    makes of types is no matter of the package.
    """

    target = "spark_thrift"

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        port = free_port()
        os.environ["SYNCTRAIL_TEST_THRIFT_PORT"] = str(port)
        home = Path(pyspark.__file__).parent
        settings = {**local_settings(folder), **delta_settings()}
        # One of the warehouses works as a Spark does that is told nothing: it writes Java for each statement.
        del settings["spark.sql.codegen.factoryMode"]
        # Threads of the server that Hive's code starts see the classes of the class path alone.
        settings["spark.driver.extraClassPath"] = settings.pop("spark.jars").replace(",", os.pathsep)
        command: list[str | Path] = [home / "bin" / "spark-submit", "--class", _SERVER]
        command += as_options(settings)
        command += ["spark-internal", "--hiveconf", f"hive.server2.thrift.port={port}"]
        command += ["--hiveconf", "hive.server2.thrift.bind.host=127.0.0.1"]
        environment = {**os.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
        with (folder / "thrift.log").open("wb") as log:
            # spark-submit becomes Java: this is the server's own process.
            self._server = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environment)
        self._connection = self._connected(port)
        self._schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

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
        self._server.terminate()
        self._server.wait(timeout=60)

    def _write(self, table: str, rows: pa.Table) -> None:
        given = self._folder / "given"
        shutil.rmtree(given, ignore_errors=True)
        given.mkdir()
        pq.write_table(rows, given / "rows.parquet")
        self._execute(f"create or replace table {table} using delta as select * from parquet.`{given}`")

    def _execute(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def _connected(self, port: int) -> hive.Connection:
        deadline = time.monotonic() + _START_SECONDS
        while True:
            assert self._server.poll() is None, "the Thrift server ended; its log is thrift.log"
            try:
                return hive.connect("127.0.0.1", port)
            except Exception:  # noqa: BLE001 - thrift's, which are many
                assert time.monotonic() < deadline, "the Thrift server does not answer; its log is thrift.log"
                time.sleep(0.5)
