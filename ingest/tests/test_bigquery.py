"""Loads into BigQuery: what it has of its own. The rules of every warehouse are in the other tests."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from commands import load, synctrail, write_profile
from conftest import Loader, bigquery_emulator, bigquery_settings, make_loader
from hard_values import load_as_duckdb_does
from lakes import record_columns
from test_killed_loads import Command, killed_load, load_into_a_server_after_kills

pytest.importorskip(
    "bqemulator", reason="the environment of the emulator alone has bqemulator: make test-ingest-bigquery"
)

from bigquery_look import client_of, open_bigquery, select_bigquery
from google.api_core.exceptions import BadRequest, NotFound
from google.auth import impersonated_credentials
from google.cloud import bigquery as client_library

from synctrail.dbt_target import Target
from synctrail.errors import BusyError, UsageError, WarehouseError
from synctrail.forget import forget
from synctrail.warehouses import bigquery_session, lease
from synctrail.warehouses.base import FILES_SCHEMA, TABLES, Commit
from synctrail.warehouses.bigquery_lock import BigQueryLock
from synctrail.warehouses.bigquery_target import connection_of
from synctrail.warehouses.choose import open_warehouse

RUN = "1/22/333"


@pytest.fixture
def bigquery(tmp_path: Path, spark: Any) -> Loader:
    """Give a loader into a new, empty dataset."""
    return make_loader("bigquery", tmp_path, spark)


@pytest.fixture
def server() -> Iterator[Any]:
    """Connect to the server as another user would."""
    with client_of(bigquery_settings()) as client:
        yield client


def dataset_of(loader: Loader) -> str:
    return loader.warehouse._dataset


def staged_tables(server: Any, dataset: str) -> set[str]:
    names = {table.table_id for table in server.list_tables(f"synctrail.{dataset}")}
    return {name for name in names if name.startswith("synctrail_staged_")}


def free_lock(loader: Loader) -> None:
    """Let the time pass that the lock of a killed load lasts."""
    with client_of(bigquery_settings()) as client:
        client.query(
            f"update `synctrail.{dataset_of(loader)}.synctrail_lock`"
            " set held_until = timestamp_sub(current_timestamp(), interval 1 second) where true"
        ).result()


def test_a_lake_in_parts_is_what_duckdb_has_of_it_at_once(bigquery, duckdb_loader, tmp_path):
    """Every row of every table: a sample lake in three loads, and a file of hard values in the last."""
    nul = record_columns(["a\0b", "\0"], record_payload=["\0", None])
    found = load_as_duckdb_does(bigquery, duckdb_loader, tmp_path, nul)
    assert "\0" in {row["record_payload"] for row in found["sync_tracking_records"]}
    assert forget(bigquery.warehouse, ["a\0b"]).rows_erased == 1


def test_names_and_types_are_those_that_dbt_reads(bigquery, lake, server):
    """And nothing stays that is not the contract's."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    bigquery.load(lake)
    tables = {table.table_id: table for table in server.list_tables(f"synctrail.{dataset_of(bigquery)}")}
    views = {"sync_tracking_runs", "source_objects", "destinations", "destination_objects"}
    assert set(tables) == {*TABLES, *views, "synctrail_lock"}
    assert {name for name, table in tables.items() if table.table_type == "VIEW"} == views
    records = server.get_table(tables["sync_tracking_records"])
    kinds = {field.name: field.field_type for field in records.schema}
    assert kinds["batch_started_at"] == "TIMESTAMP"
    assert (kinds["record_payload"], kinds["_source_row"]) == ("STRING", "INT64")
    # https://cloud.google.com/bigquery/docs/schemas#column_names, which the emulator does not know.
    refused = ("_table_", "_file_", "_partition", "_row_timestamp", "__root__", "_colidentifier", "_change_")
    for name, table in tables.items():
        columns = [field.name.lower() for field in server.get_table(table).schema]
        assert columns, name
        assert not [column for column in columns if column.startswith(refused)], name
    assert "_source_file_modified_at" in kinds


def test_what_is_staged_expires_and_records_are_clustered_by_what_builds_look_for(bigquery, monkeypatch):
    """The emulator keeps no clusters and no expiration: this is what it is asked for."""
    made = {}
    create_table = client_library.Client.create_table

    def remember(self, table, *arguments, **options):
        made[table.table_id] = table
        return create_table(self, table, *arguments, **options)

    monkeypatch.setattr(client_library.Client, "create_table", remember)
    forget(bigquery.warehouse, ["a"])
    assert made["sync_tracking_records"].clustering_fields == ["_load_id", "sync_id"]
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    staged = {name for name in made if name.startswith("synctrail_staged_")}
    assert {name.split("_", 3)[-1] for name in staged} == {"new_tombstones", "people"}
    for name, table in made.items():
        assert (
            abs(table.expires - tomorrow) < dt.timedelta(minutes=1) if name in staged else not table.expires
        )


def test_a_stage_of_ones_own(bigquery, duckdb_loader, lake):
    """Spark writes there, and BigQuery reads; nothing stays, nor does what a killed load left."""
    dataset, bucket = dataset_of(bigquery), bigquery_emulator().storage / "bucket"
    warehouse = open_bigquery(
        bigquery_settings(), dataset, stage="gs://bucket/a/b/", url=f"file:{bucket}/a/b"
    )
    own = Loader(warehouse, bigquery.spark, bigquery.select)
    left = (
        bucket / "a" / "b" / f"synctrail_synctrail_{dataset}" / "killed" / "synctrail_records" / "x.parquet"
    )
    left.parent.mkdir(parents=True)
    left.write_bytes(b"")
    (bucket / "others").touch()
    for identifier in ("a", "b"):
        lake.records(RUN, "a.0.parquet", record_columns([identifier]))
        lake.records(RUN, f"{identifier}.1.parquet", record_columns([identifier]))
        lake.facts("1/destinations.parquet", {"id": [identifier], "type": ["x"], "name": ["x"]})
        lake.metadata(RUN, {"source_type": identifier})
        own.load(lake)
        duckdb_loader.load(lake)
    assert bigquery.tables() == duckdb_loader.tables()
    assert not left.parents[2].exists()
    assert (bucket / "others").exists()


def test_stages_that_cannot_be_used():
    for options, told in (
        ({"stage": "raw.loads"}, r"'raw\.loads' is no place in Cloud Storage; write --stage gs://BUCKET"),
        ({"stage": "s3://bucket"}, "is no place in Cloud Storage"),
        ({"stage": "gs://bucket/a'b"}, "is no place in Cloud Storage"),
        ({"url": "gs://x"}, "give --stage as well"),
    ):
        with pytest.raises(UsageError, match=told):
            open_bigquery(TARGET, "census_lake", **options)


def test_many_files_are_one_job(bigquery, lake, monkeypatch):
    """A table may have few load jobs in ten seconds, and each may fail."""
    for number in range(4):
        lake.records(RUN, f"a.{number}.parquet", record_columns([f"{number}-{row}" for row in range(50)]))
    stage, session = bigquery.warehouse.stage, bigquery.warehouse._session
    load_parquet, loaded = session.load_parquet, []

    def remember(source, table):
        loaded.append(table)
        load_parquet(source, table)

    monkeypatch.setattr(
        bigquery.warehouse,
        "stage",
        lambda load_id, table, rows: stage(load_id, table, rows.repartition(3, "row_no")),
    )
    monkeypatch.setattr(session, "load_parquet", remember)
    bigquery.load(lake)
    assert len(bigquery.rows("sync_tracking_records")) == 200
    assert [table.split("_", 5)[-1] for table in loaded] == ["changed_files", "synctrail_records"]


def test_rows_that_do_not_come_back_from_where_they_were_staged(bigquery, lake, monkeypatch):
    """As where Spark's executors have disks of their own."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    commit = bigquery.warehouse.commit

    def lose_rows(planned):
        shutil.rmtree(bigquery.warehouse._work)
        return commit(planned)

    monkeypatch.setattr(bigquery.warehouse, "commit", lose_rows)
    with pytest.raises(
        WarehouseError, match=r"0 of 1 rows were found in .*, nothing of the load was kept; set TMPDIR"
    ):
        bigquery.load(lake)
    assert bigquery.warehouse.history().num_rows == 0
    assert bigquery.rows("load_files") == []


def test_a_commit_that_fails_under_way_keeps_nothing(bigquery, lake, monkeypatch, server):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    lake.metadata(RUN, {"source_type": "a"})
    bigquery.load(lake)
    before = bigquery.tables(), bigquery.rows("load_history")
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    lake.metadata(RUN, {"source_type": "changed"})
    with monkeypatch.context() as patch:
        patch.setattr(bigquery.warehouse, "_insert_history", lambda _: "select 1 / 0")
        told = r"^BigQuery refused the load, nothing of it was kept: .*division by zero"
        with pytest.raises(WarehouseError, match=told) as error:
            bigquery.load(lake)
    assert "\n" not in str(error.value)
    assert (bigquery.tables(), bigquery.rows("load_history")) == before
    assert staged_tables(server, dataset_of(bigquery)) == set()
    bigquery.load(lake)
    assert [row["record_identifier"] for row in bigquery.rows("sync_tracking_records")] == ["changed"]


def test_a_commit_that_the_client_repeats(bigquery, duckdb_loader, lake, monkeypatch):
    """As it does where BigQuery says of a job that it could not end it, though it may have."""
    write = BigQueryLock.write

    def write_twice(self, statements):
        write(self, statements)
        return write(self, statements)

    monkeypatch.setattr(BigQueryLock, "write", write_twice)
    for identifier in ("a", "b"):
        lake.records(RUN, "a.0.parquet", record_columns([identifier]))
        lake.metadata(RUN, {"source_type": identifier})
        lake.facts("1/destinations.parquet", {"id": [identifier], "type": ["x"], "name": ["x"]})
        bigquery.load(lake)
        duckdb_loader.load(lake)
    assert bigquery.tables() == duckdb_loader.tables()
    assert len(bigquery.rows("load_history")) == 2
    forget(bigquery.warehouse, ["b"])
    assert len(bigquery.rows("forgotten_records")) == 1


def test_a_lake_of_any_name(bigquery):
    """It stands in the text of a statement."""
    name = 'it\'s "a"\\n \\ lake\n\t`é 漢字 🎉` ${x} {y} @z -- /* #'
    moment = dt.datetime(2025, 3, 30, 2, 30, 0, 1, tzinfo=dt.UTC)
    history = {
        "load_id": "1",
        "lake": name,
        "started_at": moment,
        **dict.fromkeys(("files_seen", "files_loaded", "files_quarantined", "rows_loaded", "bytes_read"), 0),
        "status": "succeeded",
    }
    with bigquery.warehouse.lock(0):
        bigquery.warehouse.commit(Commit("1", FILES_SCHEMA.empty_table(), history))
    (row,) = bigquery.warehouse.history().to_pylist()
    assert (row["lake"], row["started_at"]) == (name, moment)


def test_whom_it_forgets_is_in_no_text_of_a_query(bigquery, lake, monkeypatch):
    """BigQuery keeps the texts, and the parameters, of jobs."""
    lake.records(RUN, "a.0.parquet", record_columns(["ann@example.com", "bob@example.com"]))
    bigquery.load(lake)
    texts: list[str] = []
    query = client_library.Client.query

    def remember(self, sql, *arguments, **options):
        texts.append(f"{sql} {options['job_config'].to_api_repr()}")
        return query(self, sql, *arguments, **options)

    with monkeypatch.context() as patch:
        patch.setattr(client_library.Client, "query", remember)
        assert forget(bigquery.warehouse, ["ann@example.com"], ["22", "23"]).rows_erased == 1
    assert [row["record_identifier"] for row in bigquery.rows("sync_tracking_records")] == ["bob@example.com"]
    assert texts
    assert not [text for text in texts if "ann" in text]


def test_the_lock_is_of_the_dataset_and_renewed(bigquery, tmp_path, monkeypatch):
    other = make_loader("bigquery", tmp_path, bigquery.spark)
    again = make_loader("bigquery", tmp_path, bigquery.spark, schema=dataset_of(bigquery))
    told = rf"another load is running \(process {os.getpid()} on .*\); wait for it to end, or give --wait"
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 0.05)
    with bigquery.warehouse.lock(0), other.warehouse.lock(0):
        free_lock(bigquery)
        time.sleep(1)
        with pytest.raises(BusyError, match=told), again.warehouse.lock(0.5):
            pytest.fail("the lock was given twice")
    with again.warehouse.lock(0):
        pass


def test_a_load_whose_lock_was_taken_commits_nothing(bigquery, lake, tmp_path, monkeypatch):
    """It was silent for too long, as a machine that slept; the other has loaded the same file by then."""
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 600)
    again = make_loader("bigquery", tmp_path, bigquery.spark, schema=dataset_of(bigquery))
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    commit = bigquery.warehouse.commit

    def sleep_long(planned):
        free_lock(bigquery)
        # Its work folder is of this process too, which two loads of one machine are kept from by the lock.
        kept = tmp_path / "kept"
        shutil.copytree(bigquery.warehouse._work, kept)
        again.load(lake)
        shutil.copytree(kept, bigquery.warehouse._work)
        return commit(planned)

    monkeypatch.setattr(bigquery.warehouse, "commit", sleep_long)
    with pytest.raises(
        BusyError, match=r"another load has taken over \(.*\), .*nothing of it was kept: run it"
    ):
        bigquery.load(lake)
    assert [row["record_identifier"] for row in bigquery.rows("sync_tracking_records")] == ["a"]
    assert len(bigquery.rows("load_history")) == 1


CONFLICT = BadRequest("Transaction is aborted due to concurrent update against table synctrail:x.y")


def test_who_writes_at_the_same_time_is_told(bigquery, lake, monkeypatch):
    """The emulator has one transaction after the other: its client is made to say what BigQuery says."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    bigquery.load(lake)
    query = client_library.Client.query

    def refuse(what: str) -> Callable[..., Any]:
        def refuse_or_query(self, sql, *arguments, **options):
            if what in sql:
                raise CONFLICT
            return query(self, sql, *arguments, **options)

        return refuse_or_query

    for what, told in (
        ("begin transaction", r"^somebody else wrote to the tables of BigQuery .* nothing .* kept: .*run it"),
        ("set token = @token", r"^another load is running \(another process\); wait for it to end"),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(client_library.Client, "query", refuse(what))
            with pytest.raises(BusyError, match=told):
                bigquery.load(lake)
    assert len(bigquery.rows("load_history")) == 1


def test_a_load_that_is_killed_in_its_commit_and_the_commands(project, lake, duckdb_loader, tmp_path, server):
    """As users run them, with the project where the dbt project says that staging is."""
    write_profile(project, {"dev": {**bigquery_settings(), "project": "models-of-shop"}})
    (project / "dbt_project.yml").write_text(
        "name: shop\nprofile: shop\n"
        "vars: {synctrail_census_lake_schema: Raw_1, synctrail_census_lake_database: synctrail}\n"
    )
    bigquery = make_loader("bigquery", tmp_path, duckdb_loader.spark, schema="Raw_1")
    lake.records(RUN, "a.0.parquet", record_columns([f"user-{number}" for number in range(2_000)]))
    lake.metadata(RUN, {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    killed_load(project, lake, "within commit")
    assert bigquery.rows("sync_tracking_records") == bigquery.rows("load_files") == []
    assert len(staged_tables(server, "Raw_1")) == 4

    busy = load(project, lake.root)
    assert (busy.returncode, busy.stdout) == (1, "")
    assert "another load is running (process " in busy.stderr
    free_lock(bigquery)
    whole = load(project, lake.root)
    assert whole.returncode == 0, whole.stderr
    assert "committing to BigQuery synctrail, dataset Raw_1" in whole.stderr
    duckdb_loader.load(lake)
    assert bigquery.tables() == duckdb_loader.tables()
    assert staged_tables(server, "Raw_1") == set()
    assert not bigquery.warehouse._work.exists()

    status = json.loads(synctrail(project, "status", "--json").stdout)
    assert {row["kind"]: row["rows"] for row in status["loaded"]}["records"] == 2_000
    assert len(status["loads"]) == 1
    erased = synctrail(project, "forget", "user-7", "--sync", "22")
    assert json.loads(erased.stdout) == {"identifiers": 1, "rows_erased": 1}
    pruned = synctrail(project, "prune", "--before", "2100-01-01", "--yes")
    assert json.loads(pruned.stdout)["is_done"], pruned.stderr
    assert bigquery.rows("sync_tracking_records") == []


@pytest.mark.slow
def test_loads_killed_at_random_moments(project, lake, tmp_path, spark, server):
    write_profile(project, {"dev": bigquery_settings()})

    def released(loader: Loader) -> None:
        # There is no lock before there are tables.
        with suppress(NotFound):
            free_lock(loader)

    def make(schema: str) -> Loader:
        return make_loader("bigquery", tmp_path, spark, schema=schema)

    for loader in load_into_a_server_after_kills(make, released, Command(project), lake):
        assert not loader.warehouse._work.exists()
        assert staged_tables(server, dataset_of(loader)) == set()


def test_a_dataset_whose_tables_expire_is_refused(bigquery, server):
    dataset = client_library.Dataset(f"synctrail.{dataset_of(bigquery)}")
    dataset.default_table_expiration_ms = 60 * 24 * 3600 * 1000
    server.create_dataset(dataset)
    with (
        pytest.raises(WarehouseError, match=r"has tables expire, .*; remove the dataset's default table exp"),
        bigquery.warehouse.lock(0),
    ):
        pytest.fail("the load began")


@contextmanager
def service(status: int, content: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Serve a BigQuery that answers whatever it is asked in this way; give the target that leads there."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(content).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET  # noqa: N815 - as the server calls it

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        threading.Thread(target=served.serve_forever, daemon=True).start()
        yield {
            **TARGET,
            "api_endpoint": f"http://127.0.0.1:{served.server_port}",
            "token": "the-secret-one",
        }
        served.shutdown()


def refusal(status: int, reason: str, message: str) -> dict[str, Any]:
    """Return how BigQuery refuses."""
    error = {"code": status, "message": message, "errors": [{"reason": reason, "message": message}]}
    return {"error": error}


TARGET = {
    "type": "bigquery",
    "method": "oauth-secrets",
    "token": "t",
    "project": "my-shop",
    "schema": "models",
}


@pytest.mark.parametrize(
    ("status", "reason", "message", "told"),
    [
        (
            403,
            "accessDenied",
            "Denied:\nno right",
            r"^no permission in BigQuery my-shop, dataset .*; give who",
        ),
        (
            403,
            "quotaExceeded",
            "Quota",
            r"is at a limit, nothing of the load was kept: .*; run it again later",
        ),
        (
            403,
            "billingNotEnabled",
            "No money",
            r"does not pay for the load, .*No money; enable billing in the",
        ),
        (
            404,
            "notFound",
            "No project my-shop",
            r"is not there.*No project my-shop; correct project, dataset",
        ),
        (400, "invalid", "Wrong", r"^BigQuery refused the load, nothing of it was kept: .*Wrong"),
        (
            401,
            "authError",
            "No",
            r"^cannot log in to BigQuery .*; correct the target in profiles.yml, or run:",
        ),
    ],
)
def test_what_bigquery_refuses_is_told_in_one_line(status, reason, message, told):
    with service(status, refusal(status, reason, message)) as target:
        warehouse = open_bigquery(target, "census_lake")
        with pytest.raises(WarehouseError, match=told) as error, warehouse.lock(0):
            pytest.fail("the load began")
    assert "\n" not in str(error.value)
    assert "the-secret-one" not in str(error.value)


def test_a_bigquery_that_is_not_reached_is_told_before_spark_starts(project, lake, monkeypatch):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    nobody = {**TARGET, "api_endpoint": "http://127.0.0.1:1"}
    monkeypatch.setattr(bigquery_session, "SHORT_RETRY", bigquery_session.SHORT_RETRY.with_timeout(1))
    told = r"^cannot reach BigQuery my-shop, dataset census_lake \(.*\); .*api_endpoint"
    with pytest.raises(WarehouseError, match=told) as error:
        open_bigquery(nobody, "census_lake").check()
    assert "\n" not in str(error.value)
    with service(403, refusal(403, "accessDenied", "Access Denied")) as target:
        write_profile(project, {"dev": target})
        refused = load(project, lake.root)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("synctrail: no permission in BigQuery my-shop")
    assert refused.stderr.count("\n") == 1
    assert "the-secret-one" not in refused.stderr


def test_a_target_is_read_as_dbt_reads_it():
    given = {
        **TARGET,
        "execution_project": "payer",
        "location": "EU",
        "priority": "batch",
        "maximum_bytes_billed": "1000",
        "timeout_seconds": 300,
        "quota_project": "quota",
        "threads": 4,
        "api_endpoint": "",
    }
    found = connection_of("dev", given)
    assert found.project == "my-shop"
    assert (found.client["project"], found.client["location"]) == ("payer", "EU")
    assert found.client["credentials"].token == "t"
    assert found.client["client_options"].quota_project_id == "quota"
    assert found.client["client_options"].api_endpoint is None
    # A job of low priority may wait for longer than the lock lasts.
    assert found.jobs == {"maximum_bytes_billed": 1000, "job_timeout_ms": 300_000}
    assert "credentials" not in repr(found)
    elsewhere = connection_of("dev", TARGET, "staging")
    assert (elsewhere.project, elsewhere.client["project"]) == ("staging", "my-shop")
    assert "credentials" not in connection_of("dev", {**TARGET, "method": "oauth"}).client
    refreshed = dict.fromkeys(("refresh_token", "client_id", "client_secret", "token_uri"), "x")
    secrets = connection_of("dev", {**TARGET, "token": "", **refreshed}).client["credentials"]
    assert (secrets.token, secrets.refresh_token) == (None, "x")
    acting = connection_of("dev", {**TARGET, "impersonate_service_account": "loader@x"}).client["credentials"]
    assert isinstance(acting, impersonated_credentials.Credentials)


def test_a_key_is_read_from_a_file_or_the_profile(tmp_path):
    key = {
        "type": "service_account",
        "client_email": "loader@my-shop.example",
        "token_uri": "https://oauth2.example/token",
        "private_key": private_key(),
    }
    file = tmp_path / "key.json"
    file.write_text(json.dumps(key))
    in_profile = {**TARGET, "method": "service-account-json"}
    for given in (
        {**TARGET, "method": "service-account", "keyfile": str(file)},
        {**in_profile, "keyfile_json": key},
        {**in_profile, "keyfile_json": {**key, "private_key": key["private_key"].replace("\n", "\\n")}},
        {**in_profile, "keyfile_json": base64.b64encode(json.dumps(key).encode()).decode()},
    ):
        credentials = connection_of("dev", given).client["credentials"]
        assert credentials.service_account_email == "loader@my-shop.example"
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"private_key": "secret"}')
    for given, told in (
        ({"method": "service-account", "keyfile": "/no/such"}, "/no/such cannot be read: No such file"),
        ({"method": "service-account", "keyfile": str(wrong)}, "its keyfile is no key of a service account"),
        ({"method": "service-account"}, "has no keyfile; set it in profiles.yml, or another method"),
        ({"method": "service-account-json"}, "has no keyfile_json; set it in profiles.yml"),
        ({"method": "service-account-json", "keyfile_json": "secret"}, "its keyfile_json is no key"),
        ({"method": "service-account-json", "keyfile_json": {"a": "secret"}}, "its keyfile_json is no key"),
    ):
        with pytest.raises(UsageError, match=told) as error:
            connection_of("dev", {**TARGET, **given})
        assert "secret" not in str(error.value)


def private_key() -> str:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - for this alone
    from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

    key = rsa.generate_private_key(65537, 2048)
    plain = serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain).decode()


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"method": None}, "target 'dev' has no method; set it to one of oauth, oauth-secrets"),
        ({"method": "external-oauth-wif"}, "method external-oauth-wif, which synctrail load does not"),
        ({"token": ""}, "has neither token nor refresh_token; set a token, or refresh_token, client_id"),
        ({"project": ""}, "target 'dev' has no project; set it in profiles.yml"),
        ({"project": "My Shop`"}, "'My Shop`' is no project that BigQuery has"),
    ],
)
def test_targets_that_are_not_enough(change, told):
    with pytest.raises(UsageError, match=told):
        open_bigquery({**TARGET, **change}, "census_lake")


def test_without_a_project_it_is_that_of_the_login(monkeypatch, tmp_path):
    from google.auth.exceptions import DefaultCredentialsError  # noqa: PLC0415 - for this alone

    given = {**TARGET, "method": "oauth", "project": ""}
    monkeypatch.setattr("google.auth.default", lambda **_: (None, "login-shop"))
    assert open_bigquery(given, "x").name == "BigQuery login-shop, dataset x"
    monkeypatch.setattr(
        "google.auth.default", lambda **_: (_ for _ in ()).throw(DefaultCredentialsError("no"))
    )
    with pytest.raises(
        UsageError, match=r"no application default credentials; run: gcloud auth application-d"
    ):
        open_bigquery(given, "x")


def test_a_dataset_that_cannot_be():
    with pytest.raises(UsageError, match=r"'raw-100%' is no dataset that BigQuery has"):
        open_bigquery(TARGET, "raw-100%")


def test_a_missing_client_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "google.cloud.bigquery", None)
    monkeypatch.setitem(sys.modules, "google.cloud", None)
    for module in ("bigquery", "bigquery_lock", "bigquery_session"):
        monkeypatch.delitem(sys.modules, f"synctrail.warehouses.{module}", raising=False)
    told = r"the package google-cloud-bigquery is missing; run: pip install 'synctrail\[bigquery\]'"
    with pytest.raises(UsageError, match=told):
        open_warehouse(Target("shop", "dev", "bigquery", TARGET, "census_lake"))


def test_letters_are_part_of_the_name_of_a_dataset(bigquery, lake):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    bigquery.load(lake)
    assert open_bigquery(bigquery_settings(), dataset_of(bigquery).upper()).ledger().num_rows == 0
    assert len(select_bigquery(bigquery_settings(), dataset_of(bigquery), "load_history")) == 1
