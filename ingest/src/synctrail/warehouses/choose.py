"""From a dbt target to its warehouse."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from synctrail.dbt_target import Target
from synctrail.errors import UsageError
from synctrail.warehouses.base import Warehouse


def open_warehouse(target: Target) -> Warehouse:
    """Return the warehouse of a dbt target; nothing is connected yet.

    Raises:
        UsageError: the target's adapter is not supported, or its settings are not enough.

    """
    make = _WAREHOUSES.get(target.adapter)
    if make is None:
        raise UsageError(
            f"target '{target.name}' is of type {target.adapter}, which synctrail load does not support yet;"
            f" choose a target of type {' or '.join(_WAREHOUSES)}"
        )
    return make(target)


def _duckdb(target: Target) -> Warehouse:
    try:
        from synctrail.warehouses.duckdb import DuckDbWarehouse  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise UsageError("the package duckdb is missing; run: pip install 'synctrail[duckdb]'") from error
    path = str(target.settings.get("path") or ":memory:")
    if path.startswith(":memory:"):
        raise UsageError(
            f"target '{target.name}' is a DuckDB in memory, which ends with the load;"
            " set path in profiles.yml"
        )
    if path.startswith(("md:", "motherduck:", "ducklake:")):
        raise UsageError(
            f"target '{target.name}' has path {path}, which synctrail load does not support yet;"
            " set path to a database file"
        )
    return DuckDbWarehouse(Path(path), target.schema)


def _spark(target: Target) -> Warehouse:
    from synctrail.warehouses.spark import SparkWarehouse  # noqa: PLC0415 - only where it is the target

    method = target.settings.get("method")
    if method != "session":
        raise UsageError(
            f"target '{target.name}' has method {method}, which synctrail load does not support yet;"
            " use a target with method: session"
        )
    parameters = target.settings.get("server_side_parameters") or {}
    return SparkWarehouse(target.schema, {str(key): str(value) for key, value in parameters.items()})


_WAREHOUSES: dict[str, Callable[[Target], Warehouse]] = {"duckdb": _duckdb, "spark": _spark}
