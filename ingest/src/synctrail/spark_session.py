"""Gives the Spark session: the one that runs already, or a quiet local one."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, Final

from pyspark.sql import SparkSession

from synctrail.errors import SparkError, UsageError
from synctrail.java import find_java_home
from synctrail.spark_errors import SPARK_ERRORS, explain

# S3A's own list has neither profiles nor a pod's web identity. The SDK's has both, beside the environment and
# the role of a container or a machine. What Hadoop's settings say goes before, as in S3A's list.
# https://hadoop.apache.org/docs/r3.4.2/hadoop-aws/tools/hadoop-aws/authentication.html
# https://docs.aws.amazon.com/sdk-for-java/latest/developer-guide/credentials-chain.html
_S3_CREDENTIALS = (
    "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
    "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider",
)
_LOCAL_DEFAULTS = {
    "spark.app.name": "synctrail",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "4",
    "spark.sql.session.timeZone": "UTC",
    "spark.hadoop.fs.s3a.aws.credentials.provider": ",".join(_S3_CREDENTIALS),
}
# Hadoop's default checks a local file against the .crc file beside it. In a copy of a bucket such a file is a
# stray one that is no data, and the check would refuse a good file.
RAW_FILES: Final = "org.apache.hadoop.fs.RawLocalFileSystem"
"""Hadoop's file system for local files, without checks of sums."""

_UNCHECKED_FILES = {
    "spark.hadoop.fs.file.impl": RAW_FILES,
    # What is written to S3 waits for its upload in memory: on a disk, S3A asks for the default file system.
    # https://hadoop.apache.org/docs/r3.4.2/hadoop-aws/tools/hadoop-aws/index.html#How_S3A_writes_data_to_S3
    "spark.hadoop.fs.s3a.fast.upload.buffer": "array",
}
# spark-submit may have opened the default by then, for files of its own, and Hadoop would give it again.
_SUBMITTED_DEFAULTS = {**_UNCHECKED_FILES, "spark.hadoop.fs.file.impl.disable.cache": "true"}
# Derby, the metastore of a local catalog, writes a log into the working directory unless told otherwise.
_DERBY_LOG = f"-Dderby.stream.error.file={os.devnull}"
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
# What makes PySpark give a session of Spark Connect, in the environment or among the settings.
# Source: Builder.getOrCreate in https://github.com/apache/spark/blob/v4.1.0/python/pyspark/sql/session.py
_REMOTE = ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED", "spark.remote")
_API_MODE = ("SPARK_API_MODE", "spark.api.mode")


def spark_session(settings: Mapping[str, str], *, hive: bool = False, quiet: bool = True) -> SparkSession:
    """Return the running session (of ``spark-submit``, or of this process), else start a local one.

    A session that runs keeps what it was started with; ``settings`` that can be set later are. Those of
    ``spark-submit`` give way to ``settings``.

    Args:
        settings: what the warehouse and the user ask for; they go before this module's defaults.
        hive: whether the session needs Hive's catalog.
        quiet: keep Spark's own messages off the terminal; only those of a failed start are told.

    Raises:
        SparkError: no fitting Java, or Spark does not start; the message has Spark's own reason.
        UsageError: the environment or a setting asks for a session of Spark Connect.

    """
    _refuse_remote({**os.environ, **settings})
    builder = SparkSession.builder
    if hive:
        builder = builder.enableHiveSupport()
    if _is_started():
        return _start(builder, {**({} if _has_iceberg(settings) else _SUBMITTED_DEFAULTS), **settings})
    os.environ["JAVA_HOME"] = str(find_java_home())
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    merged = {**_LOCAL_DEFAULTS, **({} if _has_iceberg(settings) else _UNCHECKED_FILES), **settings}
    if hive and "derby." not in merged.get(_JAVA_OPTIONS, ""):
        merged[_JAVA_OPTIONS] = f"{merged.get(_JAVA_OPTIONS, '')} {_DERBY_LOG}".strip()
    if not quiet:
        return _start(builder, merged)
    with tempfile.TemporaryFile() as messages:
        try:
            with _terminal_to(messages):
                session = _start(builder, merged)
        except SparkError as error:
            raise SparkError(f"{error}{_last_error(messages)}") from error
    session.sparkContext.setLogLevel("OFF")
    return session


def _refuse_remote(chosen: Mapping[str, str]) -> None:
    """Refuse Spark Connect: to list a lake, and to clear away dead loads, takes the driver's own Java."""
    found = [name for name in _REMOTE if name in chosen]
    found += [name for name in _API_MODE if chosen.get(name, "").lower() == "connect"]
    if found:
        raise UsageError(
            f"{found[0]} asks for Spark Connect, over which Synctrail cannot load; unset it, and run with"
            " spark-submit synctrail_job.py, or with spark.master for a classic session"
        )


def _has_iceberg(settings: Mapping[str, str]) -> bool:
    """Tell whether a catalog is Iceberg's, which works with no file system that does not tell its scheme.

    Source: Util.mayHaveBlockLocations in
    https://github.com/apache/iceberg/blob/apache-iceberg-1.11.0/core/src/main/java/org/apache/iceberg/hadoop/Util.java
    """
    catalogs = (value for name, value in settings.items() if name.startswith("spark.sql.catalog."))
    return any(value.startswith("org.apache.iceberg.spark.") for value in catalogs)


def _is_started() -> bool:
    return "PYSPARK_GATEWAY_PORT" in os.environ or SparkSession.getActiveSession() is not None


def _start(builder: SparkSession.Builder, settings: Mapping[str, str]) -> SparkSession:
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except SPARK_ERRORS as error:
        raise SparkError(f"Spark does not start: {explain(error)}") from error


@contextmanager
def _terminal_to(file: IO[bytes]) -> Iterator[None]:
    """Send what child processes write to a file: the Java process keeps it so for its life."""
    sys.stdout.flush()
    sys.stderr.flush()
    kept = os.dup(1), os.dup(2)
    try:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
        yield
    finally:
        for number, copy in zip((1, 2), kept, strict=True):
            os.dup2(copy, number)
            os.close(copy)


def _last_error(messages: IO[bytes]) -> str:
    messages.seek(0)
    lines = messages.read().decode(errors="replace").splitlines()
    errors = [line.strip() for line in lines if "Exception" in line or "Error" in line]
    return f" ({errors[-1]})" if errors else ""
