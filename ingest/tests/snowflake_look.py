"""What tests look at in Snowflake, by connections of their own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import snowflake.connector

from synctrail.dbt_target import Target
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.choose import Staging, open_warehouse


def open_snowflake(settings: dict[str, Any], schema: str, **options: Any) -> Warehouse:
    """Return the warehouse of a target."""
    return open_warehouse(Target("shop", "dev", "snowflake", settings, schema), Staging(**options))


@contextmanager
def session(settings: dict[str, Any]) -> Iterator[Any]:
    """Connect as another user would, and give a cursor."""
    place = {name: settings[name] for name in ("account", "host", "port", "protocol", "database")}
    with (
        snowflake.connector.connect(user="bob", password="none", network_timeout=60, **place) as connection,
        connection.cursor(snowflake.connector.DictCursor) as cursor,
    ):
        yield cursor


def select_snowflake(settings: dict[str, Any], schema: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, with times in UTC, and names in lower case."""
    with session(settings) as cursor:
        rows = cursor.execute(f"select * from {settings['database']}.{schema}.{table}").fetchall()
    return [{name.lower(): _naive(value) for name, value in row.items()} for row in rows]


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value
