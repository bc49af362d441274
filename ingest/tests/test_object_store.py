"""Lakes on S3: pages of a listing, names of any kind, objects that vanish, and a store that refuses."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from commands import SMALL, history, synctrail
from conftest import Loader
from lakes import parquet_bytes, record_columns
from object_store import BUCKET, ObjectStore, Request, object_store
from werkzeug.serving import make_server

from synctrail.errors import LakeError, SynctrailError
from synctrail.selection import Selection
from synctrail.spark_errors import SPARK_ERRORS, translate

LAKE = f"s3a://{BUCKET}/my lake/é"
PREFIX = "my lake/é/sync_tracking_datasets"
RUN = f"{PREFIX}/1/22/333"
KEY_ID, SECRET = "an-id-of-its-own", "a-secret-of-its-own"


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


def test_an_empty_bucket(duckdb_loader, store):
    assert str(failure(duckdb_loader)).startswith(f"there are no files in {LAKE}")


@contextmanager
def credentials_from(place: str, folder: Path) -> Iterator[dict[str, str]]:
    """Give the environment of an account that has its credentials in one place alone."""
    if place == "profile":
        file = folder / "credentials"
        file.write_text(f"[logs]\naws_access_key_id={KEY_ID}\naws_secret_access_key={SECRET}\n")
        yield {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "logs"}
    elif place == "role":
        with role_of_a_container() as url:
            yield {"AWS_CONTAINER_CREDENTIALS_FULL_URI": url}
    else:
        yield {}


@contextmanager
def role_of_a_container() -> Iterator[str]:
    """Serve credentials that last for an hour, as ECS and EKS do for the role of a container.

    Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html
    """

    def give(_environ: Any, start: Any) -> list[bytes]:
        expiration = dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)
        given = {
            "AccessKeyId": KEY_ID,
            "SecretAccessKey": SECRET,
            "Token": "the-token",
            "Expiration": expiration.strftime("%Y-%m-%dT%H:%M:%SZ"),
        }
        start("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(given).encode()]

    server = make_server("127.0.0.1", 0, give)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/role"
    finally:
        server.shutdown()
        thread.join()


# Those of the shared session, which all other tests here read with, are in the environment.
@pytest.mark.parametrize("place", ["profile", "role", "nowhere"])
def test_credentials_come_from_the_usual_places(project, store, s3_settings, monkeypatch, place):
    put(store, f"{RUN}/a.0.parquet", ["a", "b"])
    store.requests.clear()
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    # Or the machine's role would be asked for where there is none.
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(project / "none"))
    with credentials_from(place, project) as environment:
        result = synctrail(project, "load", LAKE, *SMALL, *store.options(s3_settings), **environment)
    assert SECRET not in result.stdout + result.stderr
    if place == "nowhere":
        assert result.returncode == 1
        assert f"no credentials for {LAKE}; " in result.stderr
        assert store.requests == []
    else:
        assert result.returncode == 0, result.stderr
        assert history(result)["rows_loaded"] == 2
        assert {request.key_id for request in store.requests} == {KEY_ID}
