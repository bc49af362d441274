"""Redshift: Postgres with look-alikes of what Redshift has and Postgres has not, behind the real adapter."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pyarrow as pa

from synctrail.jars import s3_jars
from warehouses.postgres import Postgres
from warehouses.redshift_connection import LOOK_ALIKES, S3_ENDPOINT, behave_as_redshift
from warehouses.warehouse import PROJECT, load_by_command

_CHECKOUT = PROJECT.parent
_CREDENTIALS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x"}


class Redshift(Postgres):
    """A database of a Postgres of its own; this process talks to it as to Redshift."""

    target = "redshift"
    types = Postgres.types | {pa.string(): "varchar(65535)"}

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        with self._connection.cursor() as cursor:
            cursor.execute(LOOK_ALIKES)
        behave_as_redshift()

    def load(self, lake: Path) -> None:
        """Load what is new in a lake, by the command, with a server of this process as S3."""
        # The loader's tests have the one server that there is.
        sys.path.append(str(_CHECKOUT / "ingest" / "tests"))
        from object_store import BUCKET, object_store  # noqa: PLC0415

        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        jars = ",".join(map(str, s3_jars(_CHECKOUT / ".cache" / "s3-jars")))
        with object_store() as store:
            load_by_command(
                lake,
                self.target,
                *("--stage", f"s3://{BUCKET}/loads", *store.options({"spark.jars": jars})),
                module="warehouses.redshift_command",
                environment={S3_ENDPOINT: store.endpoint, **_CREDENTIALS},
            )
