"""The tables of the Spark catalog, one module for each format of theirs."""

from __future__ import annotations

from pyspark.sql import SparkSession

from synctrail.warehouses.spark_tables.base import SparkTable
from synctrail.warehouses.spark_tables.delta import DeltaTable
from synctrail.warehouses.spark_tables.iceberg import IcebergTable
from synctrail.warehouses.spark_tables.parquet import ParquetTable

__all__ = ["SparkTable", "new_table_class", "open_table"]

_CLASSES: tuple[type[SparkTable], ...] = (IcebergTable, DeltaTable, ParquetTable)
_BY_PROVIDER = {each.provider: each for each in _CLASSES}


def open_table(spark: SparkSession, name: str) -> SparkTable:
    """Return a table that is there; ``name`` is quoted."""
    details = {row.col_name: row.data_type for row in spark.sql(f"describe table extended {name}").collect()}
    return _BY_PROVIDER.get(details["Provider"], ParquetTable)(spark, name, details["Location"])


def new_table_class(spark: SparkSession, provider: str | None = None) -> type[SparkTable]:
    """Return the format of new tables: the one that is asked for, else the best that the session has."""
    if provider is not None:
        return _BY_PROVIDER[provider]
    return next(each for each in _CLASSES if each.is_in(spark))
