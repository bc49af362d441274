"""From a dbt target to its warehouse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from synctrail.dbt_target import Target
from synctrail.errors import UsageError
from synctrail.warehouses.base import Warehouse


@dataclass(frozen=True)
class Staging:
    """Where rows are staged on their way, as the options name it.

    Args:
        stage: the place, see :class:`~synctrail.warehouses.snowflake.SnowflakeWarehouse`,
            :class:`~synctrail.warehouses.bigquery.BigQueryWarehouse` and
            :class:`~synctrail.warehouses.redshift.RedshiftWarehouse`.
        url: where Spark writes for it, if not to its own URL.
        role: the role by which Redshift reads it.

    """

    stage: str | None = None
    url: str | None = None
    role: str | None = None


NO_STAGING = Staging()


def open_warehouse(target: Target, staging: Staging = NO_STAGING, *, brings_rows: bool = True) -> Warehouse:
    """Return the warehouse of a dbt target; nothing is connected yet.

    Args:
        target: the target, of any adapter.
        staging: where rows are staged, for a warehouse that takes them from there.
        brings_rows: whether it is for rows of a lake. What else is written is little, and needs a stage only
            where a warehouse takes it from nowhere else: elsewhere the options, which may stand in the
            environment, are left aside.

    Raises:
        UsageError: the target's adapter is not supported, or its settings are not enough.

    """
    needs_stage = target.adapter in _NEED_STAGES
    chosen = staging if brings_rows or needs_stage else NO_STAGING
    if chosen.role and not needs_stage:
        raise UsageError(
            f"target '{target.name}' is of type {target.adapter}, and --stage-role is Redshift's; leave it"
            " out (SYNCTRAIL_STAGE_ROLE)"
        )
    if make_staged := _WITH_STAGES.get(target.adapter):
        if chosen.url and not chosen.stage:
            raise UsageError("--stage-url is where Spark writes for a stage; give --stage as well")
        return make_staged(target, chosen)
    if chosen.stage or chosen.url:
        raise UsageError(
            f"target '{target.name}' is of type {target.adapter}, which has no stages; leave --stage and"
            " --stage-url out (SYNCTRAIL_STAGE and SYNCTRAIL_STAGE_URL)"
        )
    make = _WAREHOUSES.get(target.adapter)
    if make is None:
        raise UsageError(
            f"target '{target.name}' is of type {target.adapter}, which synctrail load does not support yet;"
            f" choose a target of type {' or '.join(sorted([*_WAREHOUSES, *_WITH_STAGES]))}"
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


def _snowflake(target: Target, staging: Staging) -> Warehouse:
    try:
        from synctrail.warehouses.snowflake import SnowflakeWarehouse  # noqa: PLC0415 - an optional extra
        from synctrail.warehouses.snowflake_target import connector_settings  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "the package snowflake-connector-python is missing; run: pip install 'synctrail[snowflake]'"
        ) from error
    settings = connector_settings(target.name, target.settings)
    database = target.database or str(target.settings["database"])
    return SnowflakeWarehouse(settings, database, target.schema, stage=staging.stage, stage_url=staging.url)


def _bigquery(target: Target, staging: Staging) -> Warehouse:
    try:
        from synctrail.warehouses.bigquery import BigQueryWarehouse  # noqa: PLC0415 - an optional extra
        from synctrail.warehouses.bigquery_target import connection_of  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "the package google-cloud-bigquery is missing; run: pip install 'synctrail[bigquery]'"
        ) from error
    connection = connection_of(target.name, target.settings, target.database)
    return BigQueryWarehouse(connection, target.schema, stage=staging.stage, stage_url=staging.url)


def _redshift(target: Target, staging: Staging) -> Warehouse:
    try:
        from synctrail.warehouses.redshift import RedshiftWarehouse  # noqa: PLC0415 - an optional extra
        from synctrail.warehouses.redshift_target import connection_of  # noqa: PLC0415
    except ImportError as error:
        raise UsageError(
            "the package redshift-connector is missing; run: pip install 'synctrail[redshift]'"
        ) from error
    connection = connection_of(target.name, target.settings, target.database)
    return RedshiftWarehouse(
        connection, target.schema, stage=staging.stage, stage_url=staging.url, stage_role=staging.role
    )


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

_WITH_STAGES: dict[str, Callable[[Target, Staging], Warehouse]] = {
    "bigquery": _bigquery,
    "redshift": _redshift,
    "snowflake": _snowflake,
}
_NEED_STAGES = ("redshift",)
