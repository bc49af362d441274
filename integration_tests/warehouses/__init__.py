"""The warehouses that the integration project runs on, behind one small interface."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import cast

from warehouses.warehouse import Warehouse

__all__ = ["SLOW_WAREHOUSES", "VARIABLES", "WAREHOUSES", "Warehouse", "open_warehouse"]

# Where the class of each is. A module is imported when its warehouse is asked for: not every environment has
# the packages of all.
WAREHOUSES = {
    "bigquery": "warehouses.bigquery.BigQuery",
    "databricks": "warehouses.databricks_spark.Databricks",
    "duckdb": "warehouses.duckdb_file.DuckDB",
    "postgres": "warehouses.postgres.Postgres",
    "redshift": "warehouses.redshift.Redshift",
    "snowflake": "warehouses.snowflake.Snowflake",
    "spark": "warehouses.spark_catalog.Spark",
    "spark_iceberg": "warehouses.spark_catalog.SparkIceberg",
    "spark_parquet": "warehouses.spark_catalog.SparkParquet",
    "spark_thrift": "warehouses.spark_thrift.SparkThrift",
    "spark_thrift_iceberg": "warehouses.spark_thrift.SparkThriftIceberg",
}

# Where a build takes several times as long as on DuckDB.
SLOW_WAREHOUSES = WAREHOUSES.keys() - {"duckdb"}

# What a user has to tell the package there.
VARIABLES: dict[str, dict[str, object]] = {
    "spark_iceberg": {"synctrail_spark_file_format": "iceberg"},
    "spark_parquet": {"synctrail_spark_file_format": "parquet"},
    "spark_thrift_iceberg": {"synctrail_spark_file_format": "iceberg"},
}


def open_warehouse(name: str, folder: Path) -> Warehouse:
    """Start or make a warehouse; what it keeps on disk goes to a folder."""
    module, _, kind = WAREHOUSES[name].rpartition(".")
    return cast(Warehouse, getattr(import_module(module), kind)(folder))
