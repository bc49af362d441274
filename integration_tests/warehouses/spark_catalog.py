"""Spark: a local session, with tables of Delta, of Iceberg or of plain Parquet."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
from rich.console import Console

from synctrail.jars import delta_jars, iceberg_jars
from synctrail.load import load
from synctrail.progress import Reporter
from synctrail.spark_session import spark_session
from synctrail.warehouses.spark import SparkWarehouse
from warehouses.little_data import LITTLE_DATA
from warehouses.warehouse import MODEL_SCHEMA, PROJECT, STAGING_SCHEMA, aware, staging_table

# The jars that set-up brings into the checkout.
CACHE = PROJECT.parent / ".cache"

DELTA_SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # A test's tables are small and read once or twice: fifty tasks for the state of each take minutes, and
    # what Delta keeps of it in memory only adds up.
    "spark.databricks.delta.snapshotPartitions": "1",
}
ICEBERG_SETTINGS = {
    "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    "spark.sql.catalog.spark_catalog": "org.apache.iceberg.spark.SparkSessionCatalog",
    "spark.sql.catalog.spark_catalog.type": "hive",
    # A metastore in this process has no locks to give; its check of what it replaces is as good.
    "spark.hadoop.iceberg.engine.hive.lock-enabled": "false",
}


def local_settings(folder: Path) -> dict[str, str]:
    """Return the settings of a small Spark that keeps its tables and its metastore in a folder."""
    return {
        **LITTLE_DATA,
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(folder / "spark-warehouse"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder}/metastore;create=true"
        ),
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={folder}",
        "spark.driver.memory": "2g",
        # Each sort and each hash table begins with a page; by the memory there is, it would have 32 MB.
        "spark.buffer.pageSize": "1m",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def delta_settings() -> dict[str, str]:
    """Return the settings that bring Delta to a Spark; none where its jars cannot be had."""
    jars = delta_jars(CACHE / "jars")
    return {"spark.jars": ",".join(map(str, jars)), **DELTA_SETTINGS} if jars else {}


def iceberg_settings() -> dict[str, str]:
    """Return the settings that bring Iceberg to a Spark, in Delta's place."""
    jars = iceberg_jars(CACHE / "iceberg-jars")
    assert jars, "the jar of Iceberg cannot be had"
    return {"spark.jars": ",".join(map(str, jars)), **ICEBERG_SETTINGS}


def drop_iceberg_tables(schemas: Iterable[str], ask: Callable[[str], list[dict[str, Any]]]) -> None:
    """Drop each table by its name: Iceberg would remember for a while those that go with their schema.

    Args:
        schemas: Those that are to be emptied, which need not be there.
        ask: Returns the rows of a statement.

    """
    present = {row["namespace"] for row in ask("show schemas")}
    for schema in present.intersection(schemas):
        views = {row["viewName"] for row in ask(f"show views in {schema}")}
        for row in ask(f"show tables in {schema}"):
            kind = "view" if row["tableName"] in views else "table"
            ask(f"drop {kind} {schema}.{row['tableName']}")


class Spark:
    """A local Spark with Delta tables and a metastore of its own."""

    target = "spark"
    file_format = "delta"

    def __init__(self, folder: Path) -> None:
        settings = {**local_settings(folder), **self._format_settings()}
        # As the loader starts it, which reads files in the same session.
        self.session = spark_session(settings, hive=True)
        self.session.sparkContext.setLogLevel("OFF")
        self.schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

    def _format_settings(self) -> dict[str, str]:
        return delta_settings()

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""
        self.session.sql(f"create schema if not exists {STAGING_SCHEMA}")
        for name, rows in tables.items():
            frame = self.session.createDataFrame(staging_table(name, rows))
            writer = frame.coalesce(1).write.format(self.file_format).mode("overwrite")
            writer.saveAsTable(f"{STAGING_SCHEMA}.{name}")

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
            frame.coalesce(1).write.format(self.file_format).saveAsTable(f"{schema}.{name}")

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        self.session.sql(f"use {MODEL_SCHEMA}")
        rows = self.session.sql(sql).toArrow().to_pylist()
        return [{name: aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        for schema in self.schemas:
            self.session.sql(f"drop schema if exists {schema} cascade")

    def close(self) -> None:
        """Stop the session."""
        self.session.stop()


class SparkIceberg(Spark):
    """The same with Iceberg tables."""

    target = "spark_iceberg"
    file_format = "iceberg"

    def _format_settings(self) -> dict[str, str]:
        return iceberg_settings()

    def reset(self) -> None:
        """Drop every table and view."""
        drop_iceberg_tables(
            self.schemas, lambda sql: [row.asDict() for row in self.session.sql(sql).collect()]
        )
        super().reset()


class SparkParquet(Spark):
    """The same without Delta's jars: each build writes whole tables."""

    target = "spark_parquet"
    file_format = "parquet"

    def _format_settings(self) -> dict[str, str]:
        return {}
