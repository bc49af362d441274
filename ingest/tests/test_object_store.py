"""Lakes on S3: pages of a listing, names of any kind, objects that vanish, and a store that refuses."""

from __future__ import annotations

import itertools
import logging
import os
from collections import Counter
from collections.abc import Iterator

import pytest
from commands import SMALL, history, synctrail
from conftest import Loader
from lakes import parquet_bytes, record_columns
from object_store import BUCKET, ObjectStore, Request, object_store
from pyspark.errors import PySparkException

from synctrail.errors import LakeError, SynctrailError
from synctrail.selection import Selection
from synctrail.spark_errors import SPARK_ERRORS, translate

LAKE = f"s3a://{BUCKET}/my lake/é"
PREFIX = "my lake/é/sync_tracking_datasets"
RUN = f"{PREFIX}/1/22/333"


@pytest.fixture
def store(spark, s3_settings) -> Iterator[ObjectStore]:
    """Serve an empty bucket to the tests' Spark session."""
    if not s3_settings:
        pytest.skip("the jars for S3 cannot be had")
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    with object_store() as served:
        served.reach_from(spark)
        yield served


def put(store: ObjectStore, key: str, identifiers: list[str]) -> str:
    store.client.put_object(Bucket=BUCKET, Key=key, Body=parquet_bytes(record_columns(identifiers)))
    return key


def identifiers(loader: Loader) -> list[str]:
    return sorted(row["record_identifier"] for row in loader.rows("sync_tracking_records"))


def test_a_load_with_nothing_new_lists_pages_and_asks_for_no_object(duckdb_loader, store):
    """Names of any kind, over three pages of 1,000 keys; objects outside the prefixes are never asked for."""
    keys = [f"{RUN}/a b ü%20+&=[x]{{y}}'.0.parquet", f"{PREFIX}/1/22/334/a.0.parquet", f"{RUN}/b.0.parquet"]
    for number, key in enumerate(keys):
        put(store, key, [str(number)])
    client = store.client
    client.put_object(Bucket=BUCKET, Key=f"{RUN}/empty.0.parquet", Body=b"")
    client.put_object(Bucket=BUCKET, Key="my lake/é/sync-unloads/part.parquet", Body=b"no")
    store.fill(f"{RUN}/no data {number}.txt" for number in range(2100))
    first = duckdb_loader.load(LAKE)
    assert (first.history["files_seen"], first.history["rows_loaded"]) == (4, 3)
    assert identifiers(duckdb_loader) == ["0", "1", "2"]
    assert {row["path"] for row in duckdb_loader.rows("load_files")} == {
        key.removeprefix("my lake/é/") for key in (*keys, f"{RUN}/empty.0.parquet")
    }
    assert not [request for request in store.requests if "unloads" in request.key and request.method != "PUT"]

    store.requests.clear()
    assert duckdb_loader.load(LAKE).history["files_loaded"] == 0
    assert not [request for request in store.requests if request.key.endswith((".parquet", ".txt"))]
    assert Counter(request.is_list for request in store.requests)[True] <= 3 + 8
    assert len(store.requests) <= 3 + 20

    put(store, f"{PREFIX}/2/44/1/a.0.parquet", ["other"])
    store.requests.clear()
    assert duckdb_loader.load(LAKE, selection=Selection(orgs=frozenset("2"))).history["rows_loaded"] == 1
    assert Counter(request.is_list for request in store.requests)[True] <= 8


def test_an_object_that_vanishes_between_listing_and_reading(duckdb_loader, store, monkeypatch):
    put(store, f"{RUN}/a.0.parquet", ["a"])
    gone = put(store, f"{RUN}/b.0.parquet", ["b"])
    stage = duckdb_loader.warehouse.stage

    def stage_later(*arguments):
        store.client.delete_object(Bucket=BUCKET, Key=gone)
        return stage(*arguments)

    monkeypatch.setattr(duckdb_loader.warehouse, "stage", stage_later)
    assert duckdb_loader.load(LAKE).history["files_loaded"] == 1
    assert identifiers(duckdb_loader) == ["a"]
    assert "1 files vanished" in duckdb_loader.told.getvalue()


def test_a_store_that_throttles_and_fails_now_and_then(duckdb_loader, store):
    """Fail each request twice, by turns as one of too many and as an error of the store's own."""
    for number in range(4):
        put(store, f"{RUN}/{number}.0.parquet", [str(number)])
    faults = itertools.cycle([(503, "SlowDown"), (500, "InternalError")])
    tries: Counter[Request] = Counter()

    def fault(request: Request) -> tuple[int, str] | None:
        tries[request] += 1
        return next(faults) if tries[request] <= 2 else None

    store.fault = fault
    assert duckdb_loader.load(LAKE).is_complete
    assert identifiers(duckdb_loader) == ["0", "1", "2", "3"]
    assert min(tries.values()) >= 3


def failure(loader: Loader, lake: str = LAKE) -> SynctrailError:
    """Return the error of a load that fails."""
    with pytest.raises((*SPARK_ERRORS, LakeError)) as raised:
        loader.load(lake)
    error = raised.value
    return error if isinstance(error, SynctrailError) else translate(error, lake)


@pytest.mark.parametrize("method", ["every request", "GET of an object"])
def test_access_denied_is_one_line(duckdb_loader, store, method):
    put(store, f"{RUN}/a.0.parquet", ["a"])
    denied = (403, "AccessDenied")
    store.fault = lambda request: (
        denied if method == "every request" or (request.method == "GET" and request.key) else None
    )
    told = str(failure(duckdb_loader))
    assert told.startswith(f"no permission to read {LAKE}")
    assert "\n" not in told
    assert "the-secret-key" not in told
    assert duckdb_loader.warehouse.history().num_rows == 0


def test_a_bucket_that_is_not_there(duckdb_loader, store):
    told = str(failure(duckdb_loader, "s3a://no-such-bucket/lake"))
    assert told.startswith("there is no bucket as in s3a://no-such-bucket/lake;")


def test_credentials_that_are_missing():
    error = PySparkException("org.apache.hadoop.fs.s3a.auth.NoAwsCredentialsException: No AWS Credentials")
    assert str(translate(error, LAKE)).startswith(f"no credentials for {LAKE}; ")


def test_an_empty_bucket(duckdb_loader, store):
    assert str(failure(duckdb_loader)).startswith(f"there are no files in {LAKE}")


def test_the_command_line_takes_credentials_from_the_environment(project, store, s3_settings):
    put(store, f"{RUN}/a.0.parquet", ["a", "b"])
    settings = s3_settings | {f"spark.hadoop.{name}": value for name, value in store.settings.items()}
    conf = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    result = synctrail(project, "load", LAKE, *SMALL, *conf)
    assert result.returncode == 0, result.stderr
    assert history(result)["rows_loaded"] == 2
    assert os.environ["AWS_SECRET_ACCESS_KEY"] not in result.stdout + result.stderr
