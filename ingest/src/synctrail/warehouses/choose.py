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


def _postgres(target: Target) -> Warehouse:
    try:
        from synctrail.warehouses.postgres import PostgresWarehouse  # noqa: PLC0415 - an optional extra
    except ImportError as error:
        raise UsageError("the package psycopg is missing; run: pip install 'synctrail[postgres]'") from error
    # As dbt-postgres has them: https://docs.getdbt.com/docs/core/connect-data-platform/postgres-setup
    given = {_POSTGRES_ALIASES.get(name, name): value for name, value in target.settings.items() if value}
    for name in _POSTGRES_REQUIRED:
        if name not in given:
            raise UsageError(f"target '{target.name}' has no {name}; set it in profiles.yml")
    settings = {"connect_timeout": 10} | {name: given[name] for name in _POSTGRES_SETTINGS if name in given}
    if "search_path" in given:
        settings["options"] = "-c search_path={}".format(given["search_path"].replace(" ", "\\ "))
    return PostgresWarehouse(settings, target.schema, role=given.get("role"))


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


_POSTGRES_ALIASES = {"database": "dbname", "pass": "password"}
_POSTGRES_REQUIRED = ("host", "port", "user", "password", "dbname")
_POSTGRES_SETTINGS = (
    *_POSTGRES_REQUIRED,
    *("connect_timeout", "keepalives_idle", "sslmode", "sslcert", "sslkey", "sslrootcert"),
)
_WAREHOUSES: dict[str, Callable[[Target], Warehouse]] = {
    "duckdb": _duckdb,
    "postgres": _postgres,
    "spark": _spark,
}
