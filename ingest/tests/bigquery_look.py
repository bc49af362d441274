"""What tests look at in BigQuery, by a client of their own."""

from __future__ import annotations

from typing import Any

from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from synctrail.dbt_target import Target
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.choose import Staging, open_warehouse


def open_bigquery(settings: dict[str, Any], schema: str, **options: Any) -> Warehouse:
    """Return the warehouse of a target."""
    return open_warehouse(Target("shop", "dev", "bigquery", settings, schema), Staging(**options))


def client_of(settings: dict[str, Any]) -> bigquery.Client:
    """Connect as another user would."""
    return bigquery.Client(
        project=settings["project"],
        credentials=AnonymousCredentials(),
        client_options=ClientOptions(api_endpoint=settings["api_endpoint"]),
    )


def select_bigquery(settings: dict[str, Any], schema: str, table: str) -> list[dict[str, Any]]:
    """Return the rows of a table, with times in UTC, and the one name that BigQuery does not take."""
    with client_of(settings) as client:
        rows = list(client.query(f"select * from `{settings['project']}.{schema}.{table}`").result())
    names = {"_source_file_modified_at": "_file_modified_at"}
    return [{names.get(name, name): _naive(value) for name, value in row.items()} for row in rows]


def _naive(value: Any) -> Any:
    return value.replace(tzinfo=None) if hasattr(value, "tzinfo") else value
