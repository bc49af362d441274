"""Loads into Snowflake: what it has of its own. The rules of every warehouse are in the other tests."""

from __future__ import annotations

import base64
import datetime as dt
import gzip
import json
import os
import shutil
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from commands import load, synctrail, write_profile
from conftest import Loader, make_loader, snowflake_settings
from hard_values import load_as_duckdb_does
from lakes import record_columns
from test_killed_loads import Command, killed_load, load_into_a_server_after_kills

pytest.importorskip(
    "fakesnow", reason="the environment of the stand-ins alone has fakesnow: make test-ingest-stand-ins"
)

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from snowflake.connector.errors import ProgrammingError
from snowflake_look import open_snowflake, select_snowflake, session

from synctrail.dbt_target import Target
from synctrail.errors import BusyError, UsageError, WarehouseError
from synctrail.forget import forget
from synctrail.warehouses import lease
from synctrail.warehouses.base import Commit
from synctrail.warehouses.choose import Staging, open_warehouse
from synctrail.warehouses.snowflake import spark_url
from synctrail.warehouses.snowflake_target import connector_settings

RUN = "1/22/333"


@pytest.fixture
def snowflake(tmp_path: Path, spark: Any) -> Loader:
    """Give a loader into a new, empty schema."""
    return make_loader("snowflake", tmp_path, spark)


@pytest.fixture
def server() -> Iterator[Any]:
    """Connect to the server as another user would."""
    with session(snowflake_settings()) as cursor:
        yield cursor


def staged_in(loader: Loader, **options: Any) -> Loader:
    """Return a loader into the same schema, by a stage."""
    schema = loader.warehouse._schema
    warehouse = open_snowflake(snowflake_settings(), schema, **options)
    return Loader(warehouse, loader.spark, loader.select)


def test_a_lake_in_parts_is_what_duckdb_has_of_it_at_once(snowflake, duckdb_loader, tmp_path):
    """Every row of every table: a sample lake in three loads, and a file of hard values in the last."""
    nul = record_columns(["a\0b", "\0"], record_payload=["\0", None])
    found = load_as_duckdb_does(snowflake, duckdb_loader, tmp_path, nul)
    assert "\0" in {row["record_payload"] for row in found["sync_tracking_records"]}
    assert forget(snowflake.warehouse, ["a\0b"]).rows_erased == 1


def test_names_and_types_are_those_that_dbt_reads(snowflake, lake, server):
    """In upper case, as what is written without quotes; and nothing stays that is not the contract's."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    snowflake.load(lake)
    place = "table_schema = '" + snowflake.warehouse._schema.upper() + "'"
    names = server.execute(f"select table_name from shop.information_schema.tables where {place}").fetchall()
    # Snowflake lists views as well, and fakesnow does not.
    views = {"SYNC_TRACKING_RUNS", "SOURCE_OBJECTS", "DESTINATIONS", "DESTINATION_OBJECTS"}
    assert {row["TABLE_NAME"] for row in names} - views == {
        "FORGOTTEN_RECORDS",
        "LOAD_FILES",
        "LOAD_HISTORY",
        "SYNCTRAIL_FACTS",
        "SYNCTRAIL_LOCK",
        "SYNCTRAIL_RUN_METADATA",
        "SYNC_TRACKING_RECORDS",
    }
    types = server.execute(
        "select column_name, data_type from shop.information_schema.columns"
        f" where {place} and table_name = 'SYNC_TRACKING_RECORDS'"
    ).fetchall()
    kinds = {row["COLUMN_NAME"]: row["DATA_TYPE"] for row in types}
    assert kinds["BATCH_STARTED_AT"] == "TIMESTAMP_TZ"
    assert (kinds["RECORD_PAYLOAD"], kinds["_SOURCE_ROW"]) == ("TEXT", "NUMBER")
    stages = server.execute(f"show stages in schema shop.{snowflake.warehouse._schema}").fetchall()
    assert [row["name"] for row in stages if row["schema_name"] == snowflake.warehouse._schema.upper()] == []


@pytest.mark.parametrize("is_external", [False, True], ids=["internal", "external"])
def test_a_stage_of_ones_own(snowflake, duckdb_loader, lake, server, is_external):
    """Rows go there, from Spark itself if it is external; nothing stays, nor does what a killed load left."""
    schema, bucket = snowflake.warehouse._schema, lake.root.parent / "bucket"
    server.execute(f"create schema if not exists shop.{schema}")
    url = f" url = 'file://{bucket}/'" if is_external else ""
    server.execute(f"create stage shop.{schema}.loading{url}")
    server.execute(f"create stage shop.{schema}.loading_2 url = 'file:///nowhere/'")
    own = staged_in(snowflake, stage=f"{schema}.loading/a/b")
    left = bucket / "a" / "b" / f"synctrail_shop_{schema}" / "killed" / "synctrail_records" / "x.parquet"
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
    assert snowflake.tables() == duckdb_loader.tables()
    assert server.execute(f"list @shop.{schema}.loading").fetchall() == []
    assert not is_external or not left.parents[2].exists()
    assert (bucket / "others").exists()


def test_stages_that_cannot_be_used(snowflake, server):
    schema = snowflake.warehouse._schema
    server.execute(f"create schema if not exists shop.{schema}")
    server.execute(f"create stage shop.{schema}.inside")
    for options, told in (
        (
            {"stage": f"{schema}.nothing"},
            rf"no stage shop\.{schema}\.nothing, or ann may not use it.*--stage",
        ),
        (
            {"stage": "inside", "url": "s3a://x"},
            r"shop\..*\.inside is an internal one; leave --stage-url",
        ),
        ({"stage": "in side"}, r"'in side' is no stage; write \[\[DATABASE\.\]SCHEMA\.\]STAGE\[/PATH\]"),
        ({"stage": "@x/../y'"}, "is no stage"),
        ({"url": "s3a://x"}, "give --stage as well"),
    ):
        with pytest.raises((UsageError, WarehouseError), match=told):
            open_snowflake(snowflake_settings(), schema, **options).check()
    with pytest.raises(UsageError, match=r"of type duckdb, which has no stages; leave --stage and"):
        open_warehouse(Target("shop", "dev", "duckdb", {"path": "x"}, "x"), Staging("x"))


@pytest.mark.parametrize(
    ("stage", "spark"),
    [
        ("s3://bucket/a/b/", "s3a://bucket/a/b/"),
        ("s3gov://bucket", "s3a://bucket"),
        ("gcs://bucket/a", "gs://bucket/a"),
        ("azure://me.blob.core.windows.net/box/a/b", "abfss://box@me.dfs.core.windows.net/a/b"),
        ("azure://me.blob.core.windows.net/box", "abfss://box@me.dfs.core.windows.net/"),
    ],
)
def test_where_spark_writes_for_an_external_stage(stage, spark):
    assert spark_url(stage) == spark


def end_session(warehouse: Any) -> None:
    """End the session of a warehouse, as an administrator does; its transaction ends with it."""
    rest = warehouse._session._connection.rest
    request = urllib.request.Request(
        f"http://127.0.0.1:{snowflake_settings()['port']}/session?delete=true",
        method="POST",
        headers={"Authorization": f'Snowflake Token="{rest.token}"'},
    )
    urllib.request.urlopen(request, timeout=10).close()


def test_a_session_that_is_lost_in_the_commit(snowflake, lake, monkeypatch, capfd):
    """Nothing of the load is there, all of the next one is; nothing is printed but what the error says."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    snowflake.load(lake)
    before = snowflake.tables(), snowflake.rows("load_history")
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    finished = Commit.finished_history

    def lose_session(commit):
        end_session(snowflake.warehouse)
        return finished(commit)

    with monkeypatch.context() as patch:
        patch.setattr(Commit, "finished_history", lose_session)
        with pytest.raises(
            WarehouseError,
            match=r"^the connection to Snowflake .* was lost \(.*\); .* run the command again$",
        ):
            snowflake.load(lake)
    assert capfd.readouterr().err == ""
    assert (snowflake.tables(), snowflake.rows("load_history")) == before
    free_lock(snowflake)
    snowflake.load(lake)
    assert [row["record_identifier"] for row in snowflake.rows("sync_tracking_records")] == ["changed"]


@pytest.mark.parametrize("moment", ["_delete_records", "_insert_records", "_replace_ledger_rows", "commit"])
def test_a_transaction_that_snowflake_ends_under_way(snowflake, lake, monkeypatch, server, moment):
    """As the machine slept: what it executes when it wakes up is committed by itself, and changes nothing."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    lake.metadata(RUN, {"source_type": "a"})
    snowflake.load(lake)
    before = snowflake.tables(), snowflake.rows("load_history")
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    lake.metadata(RUN, {"source_type": "changed"})
    whose = snowflake.warehouse if moment != "commit" else snowflake.warehouse._session
    method = "execute" if moment == "commit" else moment
    go_on = getattr(whose, method)

    def sleep_before(*arguments):
        if method != "execute" or arguments[0] == "commit":
            server.execute("select system$abort_transaction(1)")
        return go_on(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(whose, method, sleep_before)
        with pytest.raises(
            WarehouseError, match=r"^Snowflake has ended the transaction.*run the command again$"
        ):
            snowflake.load(lake)
    assert (snowflake.tables(), snowflake.rows("load_history")) == before
    snowflake.load(lake)
    assert [row["record_identifier"] for row in snowflake.rows("sync_tracking_records")] == ["changed"]


def free_lock(loader: Loader) -> None:
    """Let the time pass that the lock of a killed load lasts."""
    with session(snowflake_settings()) as cursor:
        cursor.execute(
            f"update shop.{loader.warehouse._schema}.synctrail_lock"
            " set held_until = dateadd(second, -1, current_timestamp())"
        )


def test_rows_that_do_not_come_back_from_where_they_were_staged(snowflake, lake, monkeypatch):
    """As where Spark's executors have disks of their own."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    commit = snowflake.warehouse.commit

    def lose_rows(planned):
        shutil.rmtree(snowflake.warehouse._work)
        return commit(planned)

    monkeypatch.setattr(snowflake.warehouse, "commit", lose_rows)
    with pytest.raises(
        WarehouseError, match=r"0 of 1 rows were found in .*, nothing of the load was kept; set TMPDIR"
    ):
        snowflake.load(lake)
    assert snowflake.warehouse.history().num_rows == 0
    assert snowflake.rows("load_files") == []


def test_the_lock_is_of_the_schema_and_renewed(snowflake, tmp_path, monkeypatch):
    other = make_loader("snowflake", tmp_path, snowflake.spark)
    again = make_loader("snowflake", tmp_path, snowflake.spark, schema=snowflake.warehouse._schema)
    told = rf"another load is running \(process {os.getpid()} on .*\); wait for it to end, or give --wait"
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 0.05)
    with snowflake.warehouse.lock(0), other.warehouse.lock(0):
        free_lock(snowflake)
        time.sleep(0.5)
        with pytest.raises(BusyError, match=told), again.warehouse.lock(0.5):
            pytest.fail("the lock was given twice")
    with again.warehouse.lock(0):
        pass


def test_a_load_whose_lock_was_taken_commits_nothing(snowflake, lake, tmp_path, monkeypatch):
    """It was silent for too long, as a machine that slept; the other has loaded the same file by then."""
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 600)
    again = make_loader("snowflake", tmp_path, snowflake.spark, schema=snowflake.warehouse._schema)
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    commit = snowflake.warehouse.commit

    def sleep_long(planned):
        free_lock(snowflake)
        # Its work folder is of this process too, which two loads of one machine are kept from by the lock.
        kept = tmp_path / "kept"
        shutil.copytree(snowflake.warehouse._work, kept)
        again.load(lake)
        shutil.copytree(kept, snowflake.warehouse._work)
        return commit(planned)

    monkeypatch.setattr(snowflake.warehouse, "commit", sleep_long)
    with pytest.raises(
        BusyError, match=r"another load has taken over \(.*\), .*nothing of it was kept: run it"
    ):
        snowflake.load(lake)
    assert [row["record_identifier"] for row in snowflake.rows("sync_tracking_records")] == ["a"]
    assert len(snowflake.rows("load_history")) == 1


def test_nobody_takes_the_lock_of_a_load_that_commits(snowflake, lake, tmp_path, monkeypatch):
    """However long its transaction lasts: it waits for the row, and here is refused at once."""
    again = make_loader("snowflake", tmp_path, snowflake.spark, schema=snowflake.warehouse._schema)
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    finished, tried = Commit.finished_history, []
    query = type(again.warehouse._session).query

    def is_free(self, sql, *others):
        return [] if "held_until >=" in sql else query(self, sql, *others)

    def try_to_take(commit):
        with monkeypatch.context() as patch:
            patch.setattr(type(again.warehouse._session), "query", is_free)
            free = again.warehouse._session
            with free.connected():
                tried.append(again.warehouse._lock._try())
        return finished(commit)

    monkeypatch.setattr(Commit, "finished_history", try_to_take)
    snowflake.load(lake)
    assert tried == [None]
    assert len(snowflake.rows("load_history")) == 1


def test_a_load_that_is_killed_in_its_commit_and_the_commands(project, lake, duckdb_loader, tmp_path, server):
    """As users run them, with the database where the project says that staging is."""
    write_profile(project, {"dev": {**snowflake_settings(), "database": "models_of_shop"}})
    (project / "dbt_project.yml").write_text(
        "name: shop\nprofile: shop\n"
        "vars: {synctrail_census_lake_schema: Raw_1, synctrail_census_lake_database: shop}\n"
    )
    snowflake = make_loader("snowflake", tmp_path, duckdb_loader.spark, schema="Raw_1")
    lake.records(RUN, "a.0.parquet", record_columns([f"user-{number}" for number in range(2_000)]))
    lake.metadata(RUN, {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    killed_load(project, lake, "within commit")
    assert snowflake.rows("sync_tracking_records") == snowflake.rows("load_files") == []

    busy = load(project, lake.root)
    assert (busy.returncode, busy.stdout) == (1, "")
    assert "another load is running (process " in busy.stderr
    # What Snowflake does by itself with the transaction of a session that is gone, or somebody for it.
    server.execute("select system$abort_transaction(1)")
    free_lock(snowflake)
    whole = load(project, lake.root)
    assert whole.returncode == 0, whole.stderr
    assert "committing to Snowflake fakesnow/shop, schema Raw_1" in whole.stderr
    duckdb_loader.load(lake)
    assert snowflake.tables() == duckdb_loader.tables()
    assert not snowflake.warehouse._work.exists()

    status = json.loads(synctrail(project, "status", "--json").stdout)
    assert {row["kind"]: row["rows"] for row in status["loaded"]}["records"] == 2_000
    assert len(status["loads"]) == 1
    erased = synctrail(project, "forget", "user-7", "--sync", "22")
    assert json.loads(erased.stdout) == {"identifiers": 1, "rows_erased": 1}
    pruned = synctrail(project, "prune", "--before", "2100-01-01", "--yes")
    assert json.loads(pruned.stdout)["is_done"], pruned.stderr
    assert snowflake.rows("sync_tracking_records") == []


@pytest.mark.slow
def test_loads_killed_at_random_moments(project, lake, tmp_path, spark, server):
    write_profile(project, {"dev": snowflake_settings()})

    def released(loader: Loader) -> None:
        server.execute("select system$abort_transaction(1)")
        # There is no lock before there are tables.
        with suppress(ProgrammingError):
            free_lock(loader)

    def make(schema: str) -> Loader:
        return make_loader("snowflake", tmp_path, spark, schema=schema)

    for loader in load_into_a_server_after_kills(make, released, Command(project), lake):
        assert not loader.warehouse._work.exists()


Answers = Callable[[str], dict[str, Any]]


@contextmanager
def account(login: dict[str, Any], answer: Answers) -> Iterator[dict[str, Any]]:
    """Serve an account that answers logins and statements in this way; give the target that leads there."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            told: dict[str, Any] = {"success": True, "data": None}
            if "login-request" in self.path:
                told = login
            elif "query-request" in self.path:
                told = answer(json.loads(body)["sqlText"])
            content = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as served:
        thread = threading.Thread(target=served.serve_forever, daemon=True)
        thread.start()
        yield {**snowflake_settings(), "port": served.server_port, "password": "the-secret-one"}
        served.shutdown()


LOGGED_IN = {
    "success": True,
    "data": {"token": "t", "masterToken": "m", "parameters": [], "sessionInfo": {"databaseName": "SHOP"}},
}


def refusal(number: int, state: str, message: str) -> dict[str, Any]:
    """Return how Snowflake refuses."""
    return {
        "success": False,
        "code": f"{number:06d}",
        "message": message,
        "data": {"errorCode": f"{number:06d}", "sqlState": state},
    }


def test_what_an_account_refuses_is_told_in_one_line(project, lake):
    """Without the password, before Spark starts where it can be known by then; exit code 1."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    wrong = refusal(390100, "08001", "Incorrect username or password was specified.")
    may_not = refusal(
        3001, "42501", "SQL access control error:\nInsufficient privileges to operate on 'SHOP'"
    )
    no_warehouse = refusal(606, "57P03", "No active warehouse selected in the current session.")
    too_long = refusal(100078, "22000", f"String '{'x' * 500}' is too long and would be truncated")
    for login, answer, told in (
        (
            wrong,
            may_not,
            r"cannot connect to Snowflake fakesnow/shop.*as ann: .*Incorrect username or password",
        ),
        (
            LOGGED_IN,
            may_not,
            r"no permission in Snowflake .*Insufficient privileges .*; give ann the right to",
        ),
        (
            LOGGED_IN,
            no_warehouse,
            r"has nothing to run in: No active warehouse .*; set warehouse in profiles\.yml",
        ),
        (
            LOGGED_IN,
            too_long,
            r"Snowflake refused the load, nothing of it was kept: .*String '…' is too long",
        ),
    ):
        with account(login, lambda _, answer=answer: answer) as target:
            warehouse = open_snowflake(target, "census_lake")
            with pytest.raises(WarehouseError, match=told) as error, warehouse.lock(0):
                pytest.fail("the load began")
            assert "\n" not in str(error.value)
            assert "the-secret-one" not in str(error.value)
    nobody = {**snowflake_settings(), "port": 1, "connect_timeout": 2}
    with pytest.raises(WarehouseError, match=r"^cannot connect to Snowflake .*; correct the target") as error:
        open_snowflake(nobody, "census_lake").check()
    assert "\n" not in str(error.value)
    with account(wrong, lambda _: may_not) as target:
        write_profile(project, {"dev": target})
        refused = load(project, lake.root)
    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.startswith("synctrail: cannot connect to Snowflake fakesnow/shop")
    assert refused.stderr.count("\n") == 1
    assert "the-secret-one" not in refused.stderr


TARGET = {"type": "snowflake", "account": "my_org-x", "user": "ann", "database": "shop", "schema": "models"}


def test_a_target_is_read_as_dbt_reads_it():
    given = {
        **TARGET,
        "password": "hidden",
        "role": "loader",
        "warehouse": "small",
        "query_tag": "logs",
        "connect_timeout": 5,
        "client_session_keep_alive": True,
        "threads": 4,
        "host": "",
    }
    assert connector_settings("dev", given) == {
        "account": "my-org-x",
        "user": "ann",
        "password": "hidden",
        "role": "loader",
        "warehouse": "small",
        "login_timeout": 5,
        "client_session_keep_alive": True,
        "session_parameters": {"QUERY_TAG": "logs"},
    }
    browser = connector_settings("dev", {**TARGET, "authenticator": "externalbrowser"})
    assert browser["authenticator"] == "externalbrowser"
    token = connector_settings("dev", {**TARGET, "authenticator": "jwt", "token": "t", "user": None})
    assert (token["authenticator"], token["token"]) == ("oauth", "t")


def test_a_key_is_read_from_a_file_or_the_profile(tmp_path):
    key = rsa.generate_private_key(65537, 2048)
    form = serialization.PrivateFormat.PKCS8
    plain = key.private_bytes(serialization.Encoding.DER, form, serialization.NoEncryption())
    locked = serialization.BestAvailableEncryption(b"word")
    pem = key.private_bytes(serialization.Encoding.PEM, form, locked)
    file = tmp_path / "key.p8"
    file.write_bytes(pem)
    passphrase = {"private_key_passphrase": "word"}
    for given in (
        {"private_key_path": str(file), **passphrase},
        {"private_key": pem.decode(), **passphrase},
        {"private_key": base64.b64encode(plain).decode()},
    ):
        assert connector_settings("dev", {**TARGET, **given})["private_key"] == plain
    for given, told in (
        ({"private_key_path": str(file)}, "its private key cannot be read; give one in PEM"),
        ({"private_key_path": str(file), "private_key_passphrase": "no"}, "its private key cannot be read"),
        ({"private_key_path": "/no/such"}, "/no/such cannot be read: No such file.*correct private_key_path"),
        ({"private_key": "secret"}, "its private key cannot be read"),
    ):
        with pytest.raises(UsageError, match=told) as error:
            connector_settings("dev", {**TARGET, **given})
        assert "secret" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, "target 'dev' has no password; set it in profiles.yml, or private_key_path, or another"),
        ({"account": ""}, "target 'dev' has no account; set it in profiles.yml$"),
        ({"database": None}, "target 'dev' has no database; set it"),
        ({"user": "", "password": "x"}, "target 'dev' has no user; set it"),
        ({"authenticator": "programmatic_access_token"}, "target 'dev' has no token; set it"),
        (
            {"authenticator": "oauth", "token": "t", "oauth_client_id": "x"},
            "not support OAuth yet; use a key pair",
        ),
        ({"password": "x", "database": "my-shop"}, "'my-shop' is no database that dbt finds in Snowflake"),
    ],
)
def test_targets_that_are_not_enough(change, told):
    with pytest.raises(UsageError, match=told):
        open_snowflake({**TARGET, **change}, "census_lake")


def test_a_schema_that_dbt_does_not_find():
    with pytest.raises(UsageError, match=r"'raw 100%' is no schema that dbt finds in Snowflake"):
        open_snowflake({**TARGET, "password": "x"}, "raw 100%")


def test_a_missing_connector_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "snowflake.connector", None)
    for module in ("snowflake", "snowflake_lock", "snowflake_session"):
        monkeypatch.delitem(sys.modules, f"synctrail.warehouses.{module}", raising=False)
    told = r"the package snowflake-connector-python is missing; run: pip install 'synctrail\[snowflake\]'"
    with pytest.raises(UsageError, match=told):
        open_snowflake({**TARGET, "password": "x"}, "census_lake")


def test_the_schema_is_free_for_two_of_the_same_name_in_other_letters(snowflake, lake):
    """Letter case is no part of a name that is written without quotes."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    snowflake.load(lake)
    upper = snowflake.warehouse._schema.upper()
    assert open_snowflake(snowflake_settings(), upper).ledger().num_rows == 1
    assert len(select_snowflake(snowflake_settings(), upper, "load_history")) == 1
    assert isinstance(snowflake.rows("load_history")[0]["started_at"], dt.datetime)
