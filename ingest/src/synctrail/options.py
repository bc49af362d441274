"""Options that several commands have, and what they ask for: a warehouse, a session, a part of the lake."""

from __future__ import annotations

import datetime as dt
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession

from synctrail.dbt_target import read_target
from synctrail.errors import UsageError
from synctrail.selection import Selection
from synctrail.spark_session import spark_session
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.choose import NO_STAGING, Staging, open_warehouse


class PayloadOption(StrEnum):
    """What becomes of payloads."""

    KEEP = "keep"
    HASH = "hash"
    DROP = "drop"


class LogFormat(StrEnum):
    """How progress and errors are told on standard error."""

    TEXT = "text"
    JSON = "json"


Lake = Annotated[str, typer.Argument(help="Root of the lake: a path, or a URI such as s3a://bucket/prefix.")]
ProjectDir = Annotated[
    Path, typer.Option(envvar="DBT_PROJECT_DIR", help="Folder of dbt_project.yml.", show_default="here")
]
ProfilesDir = Annotated[
    Path | None,
    typer.Option(help="Folder of profiles.yml; else DBT_PROFILES_DIR, the project, here, ~/.dbt."),
]
ProfileName = Annotated[
    str | None, typer.Option(envvar="DBT_PROFILE", help="Profile to use; else the project's.")
]
TargetName = Annotated[str | None, typer.Option(envvar="DBT_TARGET", help="Target; else the profile's own.")]
SchemaName = Annotated[
    str | None,
    typer.Option(
        "--schema", help="Schema of the staging tables; else the variable synctrail_census_lake_schema."
    ),
]
Stage = Annotated[
    str | None,
    typer.Option(
        metavar="STAGE",
        envvar="SYNCTRAIL_STAGE",
        help="Snowflake: [[DB.]SCHEMA.]STAGE[/PATH], internal or external; else a temporary one."
        " BigQuery: gs://BUCKET[/PATH]; else rows are uploaded. Redshift, which needs one: s3://BUCKET[/PATH].",
        show_default=False,
    ),
]
StageUrl = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        envvar="SYNCTRAIL_STAGE_URL",
        help="Where Spark writes for a stage, if not to the stage's own URL.",
        show_default=False,
    ),
]
StageRole = Annotated[
    str | None,
    typer.Option(
        metavar="ARN[,ARN]...",
        envvar="SYNCTRAIL_STAGE_ROLE",
        help="Redshift: the IAM role, or chain of roles, by which it reads the stage; else its default one.",
        show_default=False,
    ),
]
SparkSettings = Annotated[
    list[str] | None,
    typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated."),
]
Orgs = Annotated[
    list[str] | None,
    typer.Option("--org", metavar="ID", help="Only this organization; may be repeated."),
]
Syncs = Annotated[
    list[str] | None, typer.Option("--sync", metavar="ID", help="Only this sync; may be repeated.")
]
Since = Annotated[
    dt.datetime | None,
    typer.Option(
        formats=["%Y-%m-%d"],
        metavar="DATE",
        help="Only runs that wrote a file on this date (UTC) or later; fact tables always.",
    ),
]
Payload = Annotated[
    PayloadOption | None,
    typer.Option(envvar="SYNCTRAIL_PAYLOAD", help="Payloads: as they are, every value hashed, or none."),
]
Redact = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FIELD,...", envvar="SYNCTRAIL_REDACT", help="Fields of payloads to hash; may be repeated."
    ),
]
PrivacyFile = Annotated[
    Path | None,
    typer.Option(
        "--privacy", metavar="FILE", envvar="SYNCTRAIL_PRIVACY", help="The same by sync, in a YAML file."
    ),
]
Wait = Annotated[float, typer.Option(help="Seconds to wait for another load to end.", min=0)]
Logs = Annotated[
    LogFormat,
    typer.Option("--log-format", envvar="SYNCTRAIL_LOG_FORMAT", help="Lines for people, or JSON objects."),
]
Debug = Annotated[bool, typer.Option("--debug", help="Show tracebacks and Spark's own messages.")]


def chosen_warehouse(
    project_dir: Path,
    profiles_dir: Path | None,
    profile: str | None,
    target: str | None,
    schema: str | None,
    *,
    staging: Staging = NO_STAGING,
    brings_rows: bool = True,
) -> Warehouse:
    """Return the warehouse of the dbt target that the options choose; see :func:`open_warehouse`.

    Raises:
        UsageError: there is no such target, or it is not supported.

    """
    chosen = read_target(
        project_dir=project_dir, profiles_dir=profiles_dir, profile=profile, target=target, schema=schema
    )
    return open_warehouse(chosen, staging, brings_rows=brings_rows)


def session(warehouse: Warehouse, conf: list[str] | None, *, debug: bool) -> SparkSession:
    """Return the Spark session for a warehouse, with settings of the command line.

    Raises:
        UsageError: a setting without a value.
        SparkError: Spark does not start.

    """
    settings = warehouse.spark_config()
    for setting in conf or []:
        name, separator, value = setting.partition("=")
        if not separator:
            raise UsageError(f"--conf {setting} has no value; write NAME=VALUE")
        settings[name] = value
    return spark_session(settings, hive=warehouse.needs_hive, quiet=not debug)


def session_to_write(warehouse: Warehouse, conf: list[str] | None, *, debug: bool) -> None:
    """Start a Spark session for a command that reads no lake, where its warehouse needs one.

    Raises:
        SynctrailError: nothing can be written to the warehouse, or Spark does not start.

    """
    if warehouse.needs_spark_to_write:
        warehouse.check()
        session(warehouse, conf, debug=debug)


def selection_of(
    orgs: list[str] | None, syncs: list[str] | None, since: dt.datetime | None = None
) -> Selection:
    """Return the part of the lake that the options choose."""
    return Selection(frozenset(orgs or ()), frozenset(syncs or ()), utc(since) if since else None)


def utc(date: dt.datetime) -> dt.datetime:
    """Return the midnight of a date, in UTC."""
    return date.replace(tzinfo=dt.UTC)
