"""What a test needs of a warehouse, and what the warehouses share."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from staging_rows import TABLES

from warehouses.little_data import LITTLE_DATA, as_options

STAGING_SCHEMA = "census_lake"
MODEL_SCHEMA = "synctrail"
PROJECT = Path(__file__).parents[1]

_ARROW_TYPES = {
    "string": pa.string(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "int": pa.int32(),
    "bigint": pa.int64(),
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


def load_by_command(
    lake: Path,
    target: str,
    *options: str,
    module: str = "synctrail",
    environment: Mapping[str, str] | None = None,
) -> None:
    """Load what is new in a lake into a target of the project's, as users do."""
    given = [*options, *as_options(LITTLE_DATA)]
    command: list[str | Path] = [sys.executable, "-m", module, "load", lake, *given]
    command += ["--project-dir", PROJECT, "--profiles-dir", PROJECT, "--target", target]
    modules = os.pathsep.join(filter(None, (str(PROJECT), os.environ.get("PYTHONPATH"))))
    variables = {**os.environ, "PYTHONPATH": modules, **(environment or {})}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=variables)
    assert done.returncode == 0, done.stdout + done.stderr


def staging_table(name: str, rows: list[dict[str, object]]) -> pa.Table:
    """Return the rows of a staging table, with the types that the loader gives them."""
    schema = pa.schema([(column, _ARROW_TYPES[kind]) for column, kind in TABLES[name].items()])
    return pa.Table.from_pylist(
        [{column: row.get(column) for column in TABLES[name]} for row in rows], schema
    )


def aware(value: object) -> object:
    """Return a timestamp as an aware one, in UTC; anything else as it is."""
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) and value.tzinfo is None else value
