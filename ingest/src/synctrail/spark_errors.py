"""Spark's and Hadoop's errors in one line."""

from __future__ import annotations

import re
from typing import Final

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException

from synctrail.columns import first_line
from synctrail.errors import BusyError, LakeError, SparkError, SynctrailError, WarehouseError

SPARK_ERRORS: Final[tuple[type[Exception], ...]] = (PySparkException, Py4JError)
"""What a call of Spark may raise."""

_CAUSE = re.compile(r"^(?:: |Caused by: )?([\w.$]+(?:Exception|Error)): (.+)$", re.MULTILINE)
_NO_FILE_SYSTEM = ("UnsupportedFileSystemException", "No FileSystem for scheme", "FileSystem not found")
_NO_BUCKET = ("NoSuchBucket", "UnknownStoreException")
_NO_CREDENTIALS = ("NoAwsCredentialsException", "NoAuthWithAWSException")
_HALF_MADE_METASTORE = re.compile(r"XBM0A: The database directory '(.+?)' exists")
_NO_SPACE = ("No space left on device", "Disk quota exceeded", "File too large")
_DENIED = ("AccessDenied", "AccessControlException", "Permission denied", "Forbidden", "Status Code: 403")


def explain(error: BaseException) -> str:
    """Return what lies at the bottom of an error of Spark, in one line."""
    text = _text(error)
    causes = _CAUSE.findall(text)
    return f"{causes[-1][0].rsplit('.', 1)[-1]}: {causes[-1][1]}"[:500] if causes else first_line(error)


def translate(error: Exception, lake: str) -> SynctrailError:
    """Return the error that tells a user what to do about a failure of Spark while loading ``lake``."""
    text = _text(error)
    if (of_warehouse := _warehouse_error(error, text)) is not None:
        return of_warehouse
    if any(sign in text for sign in _NO_CREDENTIALS):
        return LakeError(
            f"no credentials for {lake}; give the account that runs the load a role or a profile, or set"
            " AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        )
    if any(sign in text for sign in _NO_BUCKET):
        return LakeError(f"there is no bucket as in {lake}; check its name, and the region and endpoint")
    if any(sign in text for sign in _DENIED):
        return LakeError(
            f"no permission to read {lake} or to write the staging tables: {explain(error)};"
            " give the account that runs the load both, then load again"
        )
    if any(sign in text for sign in _NO_FILE_SYSTEM):
        return LakeError(
            f"Spark has no file system for {lake} ({explain(error)}); add its jars with spark.jars.packages"
        )
    return SparkError(f"Spark failed, nothing of this load was kept: {explain(error)}")


def _warehouse_error(error: Exception, text: str) -> WarehouseError | None:
    """Return the error of a failure that the lake has no part in, if it is one that is known."""
    if is_metastore_busy(error):
        return BusyError(
            "another process uses the Spark catalog: its Derby metastore serves one process at a time;"
            " end the other load or dbt run, then load again"
        )
    if half_made := _HALF_MADE_METASTORE.search(text):
        return WarehouseError(
            f"Derby was stopped while it made its metastore {half_made[1]}, in which nothing is yet;"
            " delete that folder, then load again"
        )
    if any(sign in text for sign in _NO_SPACE):
        return WarehouseError(
            f"no room to write, nothing of this load was kept: {explain(error)}; make room where the staging"
            " tables and Spark's own files (spark.local.dir) are, then load again"
        )
    return None


def is_metastore_busy(error: BaseException) -> bool:
    """Tell whether another process has the Derby metastore. XSDB6 is Derby's own code for that."""
    return "XSDB6" in _text(error)


def _text(error: BaseException) -> str:
    return f"{error}\n{getattr(error, '_stackTrace', None) or ''}"
