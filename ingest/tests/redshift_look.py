"""Where tests stage what goes to Redshift, and what they look at there."""

from __future__ import annotations

import atexit
import logging
import os
from contextlib import ExitStack
from functools import cache
from typing import Any

from object_store import BUCKET, ObjectStore, object_store
from pyspark.sql import SparkSession
from warehouses.redshift_connection import S3_ENDPOINT

from synctrail.dbt_target import Target
from synctrail.warehouses.base import Warehouse
from synctrail.warehouses.choose import Staging, open_warehouse

STAGE = f"s3://{BUCKET}/loads"


@cache
def stage_store(spark: SparkSession) -> ObjectStore:
    """Serve the bucket of the stage to a session, and to COPY, until this process ends."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    stack = ExitStack()
    atexit.register(stack.close)
    store = stack.enter_context(object_store())
    store.reach_from(spark)
    os.environ[S3_ENDPOINT] = store.endpoint
    return store


def open_redshift(
    settings: dict[str, Any],
    schema: str,
    spark: SparkSession | None = None,
    *,
    brings_rows: bool = True,
    **options: Any,
) -> Warehouse:
    """Return the warehouse of a target; with a session, its stage is there."""
    if spark:
        stage_store(spark)
        options = {"stage": STAGE, **options}
    return open_warehouse(
        Target("shop", "dev", "redshift", settings, schema), Staging(**options), brings_rows=brings_rows
    )


def staged_keys(store: ObjectStore) -> list[str]:
    """Return what lies in the bucket, without the empty objects that stand for folders to S3A."""
    found = store.client.list_objects_v2(Bucket=BUCKET).get("Contents", [])
    return [each["Key"] for each in found if not each["Key"].endswith("/")]
