"""Databricks: a local Spark with Delta tables behind the real adapter."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import databricks.sql
import pytest
from dbt.adapters.databricks import connections
from dbt.adapters.databricks.credentials import DatabricksCredentials
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from warehouses.spark_catalog import Spark

# What dbt-databricks calls the catalog where a profile names none; Spark has one catalog, and no name for it.
_CATALOG = re.compile(r"(\s+in\s+)?`?hive_metastore`?(\.|(?=\s|;|$))", re.IGNORECASE)
# Of sessions and of jobs that a local Spark does not have.
_UNKNOWN = re.compile(r"\s*(use\s+catalog|set\s+query_tags)\b", re.IGNORECASE)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


class Databricks(Spark):
    """A Spark of its own; this process talks to it as to Databricks."""

    target = "databricks"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        databricks.sql.connect = lambda **_settings: _Connection(self.session)
        # Both ask the workspace, which is not there.
        connections.check_spog_preconditions = lambda **_settings: None
        DatabricksCredentials.authenticate = lambda _: SimpleNamespace(credentials_provider=None)

    def load(self, lake: Path) -> None:
        """Skip the test: the loader does not load into Databricks by its SQL warehouses yet."""
        pytest.skip("the loader does not load into Databricks by its SQL warehouses yet")

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query, which may name the catalog."""
        return super().query(_CATALOG.sub("", sql))


class _Connection:
    """What the adapter needs of a connection of databricks-sql-connector."""

    def __init__(self, session: SparkSession) -> None:
        self.session = session

    def cursor(self) -> _Cursor:
        return _Cursor(self)

    def get_session_id_hex(self) -> str:
        return "local"

    def close(self) -> None:
        """Leave the session to the other connections."""


class _Cursor:
    """What the adapter needs of a cursor of databricks-sql-connector."""

    query_id = None

    def __init__(self, connection: _Connection) -> None:
        self.connection = connection
        self.description: list[tuple[Any, ...]] | None = None
        self._rows: list[tuple[Any, ...]] = []

    def execute(self, sql: str, parameters: list[Any] | None = None) -> _Cursor:
        if parameters:
            sql %= tuple(_literal(value) for value in parameters)
        self._tell([], [])
        if _UNKNOWN.match(_COMMENT.sub("", sql)):
            return self
        try:
            answer = self.connection.session.sql(_CATALOG.sub("", sql))
            columns = [(field.name, field.dataType.simpleString()) for field in answer.schema.fields]
            self._tell(columns, [tuple(row) for row in answer.collect()] if columns else [])
        except PySparkException as error:
            raise databricks.sql.exc.ServerOperationError(str(error)) from error
        return self

    def schemas(self, catalog: str, schema: str | None) -> _Cursor:
        found = self.connection.session.sql(f"show schemas like '{schema or '*'}'").collect()
        columns = [("TABLE_SCHEM", "string"), ("TABLE_CATALOG", "string")]
        self._tell(columns, [(row[0], catalog) for row in found])
        return self

    def tables(self, catalog: str, schema: str) -> _Cursor:
        session = self.connection.session
        rows = []
        if session.catalog.databaseExists(schema):
            views = {row.viewName for row in session.sql(f"show views in {schema}").collect()}
            for row in session.sql(f"show tables in {schema}").collect():
                if not row.isTemporary:
                    kind = "VIEW" if row.tableName in views else "TABLE"
                    rows.append((catalog, schema, row.tableName, kind))
        names = ("TABLE_CAT", "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE")
        self._tell([(name, "string") for name in names], rows)
        return self

    def fetchall(self) -> list[tuple[Any, ...]]:
        return self.fetchmany(len(self._rows))

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        rows, self._rows = self._rows[:size], self._rows[size:]
        return rows

    def fetchone(self) -> tuple[Any, ...] | None:
        return next(iter(self.fetchmany(1)), None)

    def cancel(self) -> None:
        """Do nothing: a statement has ended when execute returns."""

    def close(self) -> None:
        """Do nothing: rows are in memory."""

    def _tell(self, columns: list[tuple[str, str]], rows: list[tuple[Any, ...]]) -> None:
        self.description = [(name, kind, None, None, None, None, None) for name, kind in columns]
        self._rows = rows


def _literal(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, str):
        return "'{}'".format(value.replace("\\", "\\\\").replace("'", "\\'"))
    return str(value)
