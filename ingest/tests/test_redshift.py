"""Loads into Redshift: what it has of its own. The rules of every warehouse are in the other tests."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commands import SMALL, run_script, write_profile
from conftest import Loader, make_loader, postgres_of, redshift_settings
from hard_values import load_as_duckdb_does
from lakes import parquet_bytes, record_columns
from test_killed_loads import Command, killed_load, load_into_a_server_after_kills

pytest.importorskip(
    "redshift_connector",
    reason="the environment of the stand-ins alone has Amazon's connector: make test-ingest-stand-ins",
)

import redshift_connector
from dbt.adapters.redshift.connections import RedshiftCredentials, get_connection_method
from object_store import BUCKET, ObjectStore
from redshift_connector import ProgrammingError
from redshift_connector.cursor import Cursor
from redshift_look import STAGE, open_redshift, stage_store, staged_keys
from warehouses.redshift_connection import FORBIDDEN_ROLE, S3_ENDPOINT

from synctrail.errors import BusyError, LakeError, UsageError, WarehouseError
from synctrail.forget import forget
from synctrail.warehouses import lease
from synctrail.warehouses import redshift as redshift_module
from synctrail.warehouses.base import TABLES, Commit
from synctrail.warehouses.redshift_target import connection_of
from synctrail.warehouses.redshift_texts import storable

RUN = "1/22/333"
STAND_IN = "from warehouses.redshift_connection import behave_as_redshift; behave_as_redshift()\n"


@pytest.fixture
def redshift(tmp_path: Path, spark: Any) -> Loader:
    """Give a loader into a new, empty schema."""
    return make_loader("redshift", tmp_path, spark)


@pytest.fixture
def store(spark: Any) -> Iterator[ObjectStore]:
    """Give the store in which the stage is; what a test has it fail, it does not fail afterwards."""
    served = stage_store(spark)
    yield served
    served.fault = None


@pytest.fixture
def server() -> Iterator[psycopg.Connection[Any]]:
    """Connect to the server as its superuser."""
    with psycopg.connect(**postgres_of(redshift_settings()), autocommit=True) as connection:
        yield connection


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """Note the statements that are executed from now on, each with its parameters."""
    noted: list[tuple[str, Any]] = []
    execute = Cursor.execute

    def note(cursor: Any, sql: str, parameters: Any = None) -> Any:
        noted.append((sql, parameters))
        return execute(cursor, sql, parameters)

    monkeypatch.setattr(Cursor, "execute", note)
    return noted


def again(loader: Loader, **options: Any) -> Loader:
    """Return another loader into the same schema."""
    warehouse = open_redshift(redshift_settings(), loader.warehouse._schema, loader.spark, **options)
    return Loader(warehouse, loader.spark, loader.select)


def free_lock(loader: Loader) -> None:
    """Let the time pass that the lock of a killed load lasts."""
    with psycopg.connect(**postgres_of(redshift_settings())) as connection:
        connection.execute(
            f'update "{loader.warehouse._schema}".synctrail_lock'
            " set held_until = now() at time zone 'UTC' - interval '1 second'"
        )


def identifiers(loader: Loader) -> list[str]:
    return sorted(row["record_identifier"] for row in loader.rows("sync_tracking_records"))


def as_stored(text: str) -> str:
    """Return a text as Redshift can hold it."""
    whole = text.replace("\0", "\ufffd").encode()
    return whole[:65_535].decode(errors="ignore")


def test_a_lake_in_parts_is_what_duckdb_has_of_it_at_once(redshift, duckdb_loader, tmp_path, store):
    """Every row of every table: a sample lake in three loads, and a file of hard values in the last."""
    nul = record_columns(["a\0b", "\0"], record_payload=["\0", None])
    load_as_duckdb_does(redshift, duckdb_loader, tmp_path, nul, as_stored=as_stored)
    assert "were cut: 1 of record_identifier, 1 of record_payload, 1 of status_message" in (
        redshift.told.getvalue()
    )
    assert forget(redshift.warehouse, ["a\0b"]).rows_erased == 1
    assert staged_keys(store) == []


LONG = 65_535


@pytest.mark.parametrize("character", ["x", "é", "漢", "🎉"])
def test_a_text_is_cut_at_the_end_of_a_character(spark, character):
    size = len(character.encode())
    texts = [
        *(character * number for number in range(LONG // size - 2, LONG // size + 3)),
        *("x" * beginning + character * (LONG // size + 1) for beginning in range(1, 5)),
        None,
        "",
    ]
    rows = spark.createDataFrame([(text,) for text in texts], "text string")
    found = [row.text for row in storable(rows, ["text"]).collect()]
    assert found == [text and as_stored(text) for text in texts]
    assert max(len(text.encode()) for text in found if text) <= LONG


def test_texts_that_are_cut_are_counted(redshift, lake):
    """In one line; the columns of those that just fit are not in it."""
    payloads = ["x" * (LONG + 1), "é" * LONG, "y" * LONG]
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b", "c"], record_payload=payloads))
    lake.metadata(RUN, {"source_type": "z" * 70_000})
    redshift.load(lake)
    (line,) = [line for line in redshift.told.getvalue().splitlines() if "were cut" in line]
    assert line.startswith("texts too long for Redshift 127.0.0.1:")
    # The raw text of the metadata, and the field in it.
    assert line.endswith("were cut: 1 of metadata, 2 of record_payload, 1 of source_type")
    assert len(redshift.rows("sync_tracking_records")) == 3
    redshift.told.truncate(0)
    lake.records(RUN, "b.0.parquet", record_columns(["d"]))
    redshift.load(lake)
    assert "were cut" not in redshift.told.getvalue()


def test_names_and_types_are_those_that_dbt_reads(redshift, lake, server, executed):
    """And nothing stays that is not the contract's."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    redshift.load(lake)
    found = server.execute(
        "select table_name, table_type from information_schema.tables where table_schema = %s",
        [redshift.warehouse._schema],
    ).fetchall()
    views = {"sync_tracking_runs", "source_objects", "destinations", "destination_objects"}
    assert {name for name, kind in found if kind == "VIEW"} == views
    assert {name for name, kind in found if kind == "BASE TABLE"} == {*TABLES, "synctrail_lock"}
    (made,) = [
        sql for sql, _ in executed if sql.startswith("create table") and '."sync_tracking_records"' in sql
    ]
    assert "record_payload varchar(65535), " in made
    assert "batch_started_at timestamptz, " in made
    assert "_source_row bigint, " in made
    assert made.endswith(") compound sortkey (_load_id, sync_id)")


def test_nothing_is_seen_before_the_commit(redshift, lake, monkeypatch):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    redshift.load(lake)
    before = redshift.tables(), redshift.rows("load_history")
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    lake.metadata(RUN, {"source_type": "x"})
    finished, seen = Commit.finished_history, []

    def look(commit):
        seen.append((redshift.tables(), redshift.rows("load_history")))
        return finished(commit)

    monkeypatch.setattr(Commit, "finished_history", look)
    redshift.load(lake)
    assert seen == [before]
    assert identifiers(redshift) == ["changed"]


def test_a_connection_that_is_lost_in_the_commit(  # noqa: PLR0917 - fixtures
    redshift, lake, server, monkeypatch, capfd, store
):
    """Nothing of the load is there, all of the next one is; nothing is printed but what the error says."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    redshift.load(lake)
    before = redshift.tables(), redshift.rows("load_history")
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    finished = Commit.finished_history

    def lose_connection(commit):
        ended = server.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
            " where application_name = 'synctrail' and state = 'idle in transaction'"
        ).fetchall()
        assert ended == [(True,)]
        return finished(commit)

    with monkeypatch.context() as patch:
        patch.setattr(Commit, "finished_history", lose_connection)
        told = r"^the connection to Redshift .* was lost \(.*\); .* run the command again$"
        with pytest.raises(WarehouseError, match=told):
            redshift.load(lake)
    assert capfd.readouterr().err == ""
    assert (redshift.tables(), redshift.rows("load_history")) == before
    assert staged_keys(store) == []
    redshift.load(lake)
    assert identifiers(redshift) == ["changed"]


def test_rows_that_do_not_come_back_from_where_they_were_staged(redshift, lake, monkeypatch, store):
    """Those of one file of several; where all are gone, Redshift itself refuses to copy."""
    for number in range(2):
        lake.records(RUN, f"a.{number}.parquet", record_columns([f"{number}-{row}" for row in range(50)]))
    commit = redshift.warehouse.commit

    def lose_rows(planned, *, all_of_them=False):
        keys = [key for key in staged_keys(store) if "/synctrail_records/part-" in key]
        assert len(keys) == 2
        for key in keys if all_of_them else keys[:1]:
            store.client.delete_object(Bucket=BUCKET, Key=key)
        return commit(planned)

    stage = redshift.warehouse.stage
    monkeypatch.setattr(
        redshift.warehouse,
        "stage",
        lambda load_id, table, rows: stage(load_id, table, rows.repartition(2, "row_no")),
    )
    monkeypatch.setattr(redshift.warehouse, "commit", lose_rows)
    told = r"\d+ of 100 rows were found in s3a://.*, nothing of the load was kept; see that nobody else"
    with pytest.raises(WarehouseError, match=told):
        redshift.load(lake)
    monkeypatch.setattr(redshift.warehouse, "commit", lambda planned: lose_rows(planned, all_of_them=True))
    with pytest.raises(WarehouseError, match=r"cannot copy from s3://.*prefix .* does not exist; see"):
        redshift.load(lake)
    assert redshift.warehouse.history().num_rows == 0
    assert redshift.rows("load_files") == []
    assert staged_keys(store) == []


def test_what_a_killed_load_left_is_removed_and_nothing_else(redshift, lake, store):
    """Its folder is its schema's alone; another's of the same name in another cluster has another digest."""
    own = redshift.warehouse._own_folder.strip("/")
    others = [f"loads/{own}x/token/synctrail_records/part-0.parquet", "loads/others"]
    for key in (f"loads/{own}/killed/synctrail_records/part-0.parquet", *others):
        store.client.put_object(Bucket=BUCKET, Key=key, Body=b"no")
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    redshift.load(lake)
    assert identifiers(redshift) == ["a"]
    assert staged_keys(store) == sorted(others)
    for key in others:
        store.client.delete_object(Bucket=BUCKET, Key=key)
    elsewhere = open_redshift({**redshift_settings(), "host": "localhost"}, redshift.warehouse._schema)
    assert elsewhere._own_folder.strip("/") != own


def test_whom_it_forgets_is_in_no_text_of_a_query(redshift, lake, executed, server, store):
    """Nor among its parameters: Redshift keeps both. And no deleted row stays on its disks."""
    lake.records(RUN, "a.0.parquet", record_columns(["ann@example.com", "bob@example.com"]))
    redshift.load(lake)
    executed.clear()
    assert forget(redshift.warehouse, ["ann@example.com"], ["22", "23"]).rows_erased == 1
    assert identifiers(redshift) == ["bob@example.com"]
    assert len(redshift.rows("forgotten_records")) == 2
    assert not [each for each in executed if "ann" in repr(each)]
    vacuums = [sql for sql, _ in executed if sql.startswith("vacuum")]
    place = f'"{redshift.warehouse._schema}"."sync_tracking_records"'
    assert vacuums == [f"vacuum delete only {place} to 100 percent"]
    assert staged_keys(store) == []
    # Redshift takes "ann " for "ann": the stand-in, which does not, is asked for both to be of one length.
    (deletion,) = [sql for sql, _ in executed if sql.startswith("delete")]
    assert f"octet_length({place}.record_identifier) = octet_length(" in deletion
    # Again, with nothing to do.
    assert forget(redshift.warehouse, ["ann@example.com"], ["22", "23"]).rows_erased == 0


def test_the_lock_is_of_the_schema_and_renewed(redshift, tmp_path, monkeypatch):
    other = make_loader("redshift", tmp_path, redshift.spark)
    told = rf"another load is running \(process {os.getpid()} on .*\); wait for it to end, or give --wait"
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 0.05)
    with redshift.warehouse.lock(0), other.warehouse.lock(0):
        free_lock(redshift)
        time.sleep(0.5)
        with pytest.raises(BusyError, match=told), again(redshift).warehouse.lock(0.5):
            pytest.fail("the lock was given twice")
    with again(redshift).warehouse.lock(0):
        pass


def test_a_lock_is_renewed_by_another_connection_where_its_own_is_lost(redshift, server, monkeypatch):
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 0.05)
    with redshift.warehouse.lock(0):
        assert len(end_idle(server)) == 1
        free_lock(redshift)
        time.sleep(1)
        with pytest.raises(BusyError, match="another load is running"), again(redshift).warehouse.lock(0):
            pytest.fail("the lock was given twice")


def end_idle(server: psycopg.Connection[Any]) -> list[Any]:
    return server.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        " where application_name = 'synctrail' and state = 'idle'"
    ).fetchall()


def test_a_load_whose_lock_was_taken_commits_nothing(redshift, lake, monkeypatch):
    """It was silent for too long, as a machine that slept; the other has loaded the same file by then."""
    monkeypatch.setattr(lease, "_RENEW_SECONDS", 600)
    monkeypatch.setattr(redshift_module, "delete_folder", lambda *_: None)
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    commit = redshift.warehouse.commit

    def sleep_long(planned):
        free_lock(redshift)
        again(redshift).load(lake)
        return commit(planned)

    with monkeypatch.context() as patch:
        patch.setattr(redshift.warehouse, "commit", sleep_long)
        told = r"another load has taken over \(.*\), .*nothing of it was kept: run it"
        with pytest.raises(BusyError, match=told):
            redshift.load(lake)
    assert identifiers(redshift) == ["a"]
    assert len(redshift.rows("load_history")) == 1
    monkeypatch.undo()
    redshift.load(lake)


def test_nobody_takes_the_lock_of_a_load_that_commits(redshift, lake, monkeypatch):
    """However long its transaction lasts: who asks for it waits for a while, and is refused."""
    monkeypatch.setattr(redshift_module, "_LOCK_STATEMENT_SECONDS", 1)
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    redshift.load(lake)
    lake.records(RUN, "b.0.parquet", record_columns(["b"]))
    late = again(redshift)
    finished, told = Commit.finished_history, []

    def try_to_take(commit):
        lock = late.warehouse._lock
        with lock._session.connected():
            told.append(lock._take("other"))
        with pytest.raises(BusyError) as error, late.warehouse.lock(0):
            pytest.fail("the lock was given twice")
        told.append(str(error.value))
        return finished(commit)

    monkeypatch.setattr(Commit, "finished_history", try_to_take)
    redshift.load(lake)
    assert told[0] is False
    assert told[1].startswith("another load is running (another process); ")
    assert identifiers(redshift) == ["a", "b"]


def refuse(monkeypatch: pytest.MonkeyPatch, what: str, **fields: str) -> None:
    """Let the server refuse statements that begin in one way."""
    execute = Cursor.execute

    def refuse_or_execute(cursor: Any, sql: str, parameters: Any = None) -> Any:
        if sql.startswith(what):
            raise ProgrammingError({"S": "ERROR", "C": "XX000", **fields})
        return execute(cursor, sql, parameters)

    monkeypatch.setattr(Cursor, "execute", refuse_or_execute)


def test_who_writes_at_the_same_time_is_told(redshift, lake, monkeypatch):
    """The stand-in lets transactions wait for each other: its client is made to say what Redshift says."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    violation = "Serializable isolation violation on table - 100, transactions forming the cycle are: 1, 2"
    with monkeypatch.context() as patch:
        refuse(patch, "insert into", M="1023", D=violation)
        told = rf"^somebody else wrote to the tables of Redshift .*: 1023 {violation}; run it again$"
        with pytest.raises(BusyError, match=told):
            redshift.load(lake)
    with monkeypatch.context() as patch:
        refuse(patch, "update", M="1023", D=violation)
        with pytest.raises(BusyError, match="another load is running"), redshift.warehouse.lock(0):
            pytest.fail("the lock was given")
    redshift.load(lake)
    assert identifiers(redshift) == ["a"]


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        (
            {"C": "42501", "M": "permission denied for relation load_files"},
            r"^no permission in Redshift .*: permission denied for relation load_files; give postgres the",
        ),
        (
            {"M": "Value too long", "D": "Row: (ann@example.com)"},
            r"^Redshift refused the load, nothing of it was kept: Value too long$",
        ),
        (
            {
                "M": "Spectrum Scan Error",
                "D": "\n ----\n error:  Spectrum Scan Error\n code:  15001\n context:   The length of x\n",
            },
            r"nothing of it was kept: Spectrum Scan Error Spectrum Scan Error The length of x$",
        ),
    ],
)
def test_what_redshift_refuses_is_told_in_one_line(redshift, lake, monkeypatch, fields, told):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    refuse(monkeypatch, "insert into", **fields)
    with pytest.raises(WarehouseError, match=told) as error:
        redshift.load(lake)
    assert "\n" not in str(error.value)
    assert "ann" not in str(error.value)


def test_a_schema_that_may_not_be_made_is_told_before_the_lake_is_read(redshift, server):
    server.execute("create role loader login")
    target = {**redshift_settings(), "user": "loader"}
    told = r"^no permission in Redshift .*: permission denied for database postgres; give loader the right"
    with (
        pytest.raises(WarehouseError, match=told),
        open_redshift(target, "forbidden", redshift.spark).lock(0),
    ):
        pytest.fail("the load began")
    acting = {**redshift_settings(), "role": "loader", "query_group": "it's loads"}
    with (
        pytest.raises(WarehouseError, match=told),
        open_redshift(acting, "forbidden", redshift.spark).lock(0),
    ):
        pytest.fail("the load began")
    server.execute("drop role loader")


def test_stages_that_cannot_be_used(redshift):
    """Each is told in one line, without Spark where it can be known by then."""
    target = redshift_settings()
    for options, told in (
        ({}, r"^Redshift takes rows from S3; give --stage s3://BUCKET\[/PATH\], .*SYNCTRAIL_STAGE\)$"),
        ({"stage": "raw.loads"}, r"'raw\.loads' is no place in S3; write --stage s3://BUCKET"),
        ({"stage": "s3a://bucket"}, "is no place in S3"),
        ({"stage": "s3://bucket/a'b"}, "is no place in S3"),
        ({"url": "s3a://x"}, "give --stage as well"),
        ({"stage": STAGE, "role": "loader"}, r"'loader' is no role; write --stage-role arn:aws:iam::"),
        ({"stage": STAGE, "role": "arn:aws:iam::000000000000:role/a'b"}, "is no role"),
        ({"stage": STAGE, "role": f"{FORBIDDEN_ROLE}, {FORBIDDEN_ROLE}"}, "is no role"),
    ):
        with pytest.raises(UsageError, match=told):
            open_redshift(target, "census_lake", **options).check()
    nowhere = again(redshift, stage="s3://no-such-bucket/loads").warehouse
    told = r"^there is no bucket as in s3a://no-such-bucket/loads; "
    with pytest.raises(LakeError, match=told), nowhere.lock(0):
        pytest.fail("the load began")
    # What a load needs one for, nobody needs to look.
    assert open_redshift(target, redshift.warehouse._schema).ledger().num_rows == 0
    assert open_redshift(target, "census_lake", brings_rows=False, stage=STAGE)._stage == STAGE


def test_what_the_cluster_cannot_read_is_told(redshift, lake, store, executed, monkeypatch):
    """By a role that it may not assume, or in a bucket that the role may not read."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    told = r"^Redshift cannot copy from s3://census-logs/loads/.*: .*not authorized .*; see that the role of"
    with pytest.raises(WarehouseError, match=told) as error:
        again(redshift, role=FORBIDDEN_ROLE).load(lake)
    assert "\n" not in str(error.value)
    session = redshift.warehouse._session
    copy = session.copy

    def deny_and_copy(sql, place):
        store.fault = lambda _: (403, "AccessDenied")
        try:
            copy(sql, place)
        finally:
            store.fault = None

    with monkeypatch.context() as patch:
        patch.setattr(session, "copy", deny_and_copy)
        with pytest.raises(WarehouseError, match=r"cannot copy from .*S3ServiceException.*; see that the"):
            redshift.load(lake)
    assert redshift.warehouse.history().num_rows == 0
    chain = "arn:aws:iam::123456789012:role/reads/one,arn:aws-cn:iam::123456789012:role/Two_2"
    executed.clear()
    again(redshift, role=chain).load(lake)
    copies = [sql for sql, _ in executed if sql.startswith("copy")]
    assert len(copies) == 2
    assert all(sql.endswith(f"/part-' iam_role '{chain}' format as parquet") for sql in copies)
    assert identifiers(redshift) == ["a"]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"a": ["x"]}, "Unmatched number of columns"),
        ({"a": ["x"], "b": ["y"]}, "incompatible Parquet schema for column n"),
        ({"a": ["x" * 11], "n": [1]}, "length of the data column a is longer .* Table: 10, Data: 11"),
        ({"a": ["é" * 6], "n": [1]}, "Table: 10, Data: 12"),
        (None, "prefix 'odd/part-' does not exist"),
    ],
)
def test_the_stand_in_refuses_what_redshift_refuses(redshift, store, rows, told):
    """Or all that was shown of COPY would be that a look-alike takes everything."""
    if rows:
        store.client.put_object(Bucket=BUCKET, Key="odd/part-0.parquet", Body=parquet_bytes(rows))
    session = redshift.warehouse._session
    with session.connected():
        session.execute("create temporary table odd (a varchar(10), n bigint)")
        with pytest.raises(WarehouseError, match=told):
            session.copy(
                f"copy odd from 's3://{BUCKET}/odd/part-' iam_role default format as parquet", "there"
            )
    store.client.delete_object(Bucket=BUCKET, Key="odd/part-0.parquet")


def test_names_that_are_no_identifiers(redshift, lake, server, store):
    """Of the schema and of the bucket's folder; and a lake's, which stands in a parameter."""
    schema = 'raw 100%s "it\'s"'
    server.execute('drop schema if exists "raw 100%s ""it\'s""" cascade')
    odd = Loader(open_redshift(redshift_settings(), schema, redshift.spark), redshift.spark, redshift.select)
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    lake.metadata(RUN, {"source_type": "x"})
    moved = lake.root.rename(lake.root.with_name('it\'s 100%s \\ "lake" $1 é'))
    odd.load(str(moved))
    assert [row["lake"] for row in odd.warehouse.history().to_pylist()] == [str(moved)]
    assert forget(odd.warehouse, ["a"]).rows_erased == 1
    assert staged_keys(store) == []
    moved.rename(lake.root)


TARGET = {
    "type": "redshift",
    "host": "shop.abc.eu-west-1.redshift.amazonaws.com",
    "port": 5439,
    "dbname": "shop",
    "schema": "models",
}
SERVERLESS = {**TARGET, "host": "shop.123456789012.eu-west-1.redshift-serverless.amazonaws.com"}


@pytest.mark.parametrize(
    "given",
    [
        {**TARGET, "user": "ann", "pass": "hidden"},
        {**TARGET, "user": "ann", "password": "hidden", "sslmode": "disable", "connect_timeout": 5},
        {**TARGET, "user": "ann", "password": "hidden", "sslmode": "verify-full", "tcp_keepalive_idle": 9},
        {**TARGET, "user": "ann", "password": "hidden", "tcp_keepalive": False, "region": "eu-west-1"},
        {**TARGET, "method": "iam", "user": "ann", "cluster_id": "shop", "iam_profile": "loads"},
        {
            **TARGET,
            **{"method": "iam", "user": "ann", "cluster_id": "shop", "autocreate": True, "db_groups": ["g"]},
            **{"access_key_id": "AKIA", "secret_access_key": "hidden", "region": "eu-west-1"},
        },
        {**SERVERLESS, "method": "iam", "user": "ann", "serverless_work_group": "w"},
        {**TARGET, "method": "iam_role", "cluster_id": "shop", "iam_profile": "loads"},
        {**SERVERLESS, "method": "iam_role", "serverless_work_group": "w", "serverless_acct_id": "1"},
    ],
)
def test_a_target_is_read_as_dbt_reads_it(given, monkeypatch):
    """What dbt-redshift calls Amazon's connector with, and a name by which to know the loader."""
    called: list[dict[str, Any]] = []

    def note(**settings: Any) -> Any:
        called.append(settings)
        return type("Connection", (), {})()

    monkeypatch.setattr(redshift_connector, "connect", note)
    own = {key: value for key, value in given.items() if key != "type"}
    get_connection_method(RedshiftCredentials.from_dict(RedshiftCredentials.translate_aliases(own)))()
    found = connection_of("dev", given)
    ours = {name: value for name, value in found.connect.items() if value not in (None, "", [], False)}
    theirs = {name: value for name, value in called[0].items() if value not in (None, "", [], False)}
    assert ours == {**theirs, "application_name": "synctrail"}
    assert "hidden" not in repr(found)
    assert connection_of("dev", given, "other").place == f"{given['host']}:5439/other"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({}, "target 'dev' has no user; set it in profiles.yml$"),
        ({"user": "ann"}, "target 'dev' has no password; set it"),
        ({"host": ""}, "target 'dev' has no host; set it"),
        ({"dbname": None}, "target 'dev' has no database; set it"),
        ({"method": "iam", "cluster_id": "x"}, "target 'dev' has no user"),
        (
            {"method": "iam_role"},
            "has method iam_role and no cluster_id; set it in profiles.yml, or is_server",
        ),
        (
            {"method": "browser_identity_center"},
            "has method browser_identity_center, which .* not support yet; set it to one of database, iam",
        ),
        (
            {"user": "ann", "password": "hidden", "sslmode": "no"},
            "sslmode no, which is none; .* disable, allow",
        ),
        (
            {"method": "iam", "user": "ann", "cluster_id": "x", "secret_access_key": "hidden"},
            "has secret_access_key alone; set access_key_id and secret_access_key both",
        ),
    ],
)
def test_targets_that_are_not_enough(change, told):
    with pytest.raises(UsageError, match=told) as error:
        open_redshift({**TARGET, **change}, "census_lake")
    assert "hidden" not in str(error.value)


def test_a_cluster_that_is_not_reached(capfd):
    """Nor is what the login was, in any message."""
    nobody = {**redshift_settings(), "port": 1, "password": "hidden", "connect_timeout": 2}
    told = r"^cannot connect to Redshift 127\.0\.0\.1:1/postgres, .*, as postgres: .*refused.*; correct the"
    with pytest.raises(WarehouseError, match=told) as error:
        open_redshift(nobody, "census_lake", stage=STAGE).check()
    without_key = {**TARGET, "method": "iam", "user": "ann", "cluster_id": "x", "iam_profile": "no-such"}
    with pytest.raises(WarehouseError, match=r"as ann: .*no-such.*; correct the target") as of_profile:
        open_redshift(without_key, "census_lake", stage=STAGE).check()
    for each in (error, of_profile):
        assert "\n" not in str(each.value)
        assert "hidden" not in str(each.value)
    assert capfd.readouterr().err == ""


def test_a_statement_may_take_longer_than_to_connect(redshift):
    """To the connector, one timeout is both."""
    session = open_redshift({**redshift_settings(), "connect_timeout": 1}, "census_lake")._session
    with session.connected():
        session.query("select pg_sleep(1.5)")


def test_a_missing_connector_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "redshift_connector", None)
    for module in ("redshift", "redshift_lock", "redshift_session"):
        monkeypatch.delitem(sys.modules, f"synctrail.warehouses.{module}", raising=False)
    told = r"the package redshift-connector is missing; run: pip install 'synctrail\[redshift\]'"
    with pytest.raises(UsageError, match=told):
        open_redshift({**TARGET, "user": "ann", "password": "x"}, "census_lake")


def test_a_load_that_is_killed_in_its_commit_and_the_commands(  # noqa: PLR0917 - fixtures
    project, lake, duckdb_loader, tmp_path, store, s3_settings, monkeypatch
):
    """As users run them, with the stage in the environment."""
    write_profile(project, {"dev": redshift_settings()})
    variable = "vars: {synctrail_census_lake_schema: Raw_1}\n"
    (project / "dbt_project.yml").write_text(f"name: shop\nprofile: shop\n{variable}")
    redshift = make_loader("redshift", tmp_path, duckdb_loader.spark, schema="Raw_1")
    lake.records(RUN, "a.0.parquet", record_columns([f"user-{number}" for number in range(2_000)]))
    lake.metadata(RUN, {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    conf = store.options(s3_settings)
    for name, value in {"SYNCTRAIL_STAGE": STAGE, S3_ENDPOINT: store.endpoint}.items():
        monkeypatch.setenv(name, value)
    killed_load(project, lake, "within commit", *conf, before=STAND_IN)
    assert redshift.rows("sync_tracking_records") == redshift.rows("load_files") == []
    assert staged_keys(store)

    def says(*arguments: str) -> Any:
        return run_script(project, "import warehouses.redshift_command", *arguments)

    free_lock(redshift)
    whole = says("load", str(lake.root), *SMALL, *conf)
    assert whole.returncode == 0, whole.stderr
    assert "committing to Redshift 127.0.0.1:" in whole.stderr
    duckdb_loader.load(lake)
    assert redshift.tables() == duckdb_loader.tables()
    assert staged_keys(store) == []

    status = json.loads(says("status", "--json").stdout)
    assert {row["kind"]: row["rows"] for row in status["loaded"]}["records"] == 2_000
    erased = says("forget", "user-7", "--sync", "22", *SMALL, *conf)
    assert erased.returncode == 0, erased.stderr
    assert json.loads(erased.stdout) == {"identifiers": 1, "rows_erased": 1}
    would = says("prune", "--before", "2100-01-01")
    assert not json.loads(would.stdout.splitlines()[-1])["is_done"], would.stderr
    pruned = says("prune", "--before", "2100-01-01", "--yes", *SMALL, *conf)
    assert json.loads(pruned.stdout.splitlines()[-1])["is_done"], pruned.stderr
    assert redshift.rows("sync_tracking_records") == []
    # Without a stage, before Spark starts.
    monkeypatch.delenv("SYNCTRAIL_STAGE")
    for command in (["load", str(lake.root)], ["forget", "a"], ["prune", "--before", "2100-01-01", "--yes"]):
        refused = says(*command)
        assert (refused.returncode, refused.stdout) == (2, "")
        assert refused.stderr.startswith("synctrail: Redshift takes rows from S3; give --stage ")
        assert refused.stderr.count("\n") == 1


@pytest.mark.slow
def test_loads_killed_at_random_moments(  # noqa: PLR0917 - fixtures
    project, lake, tmp_path, spark, store, s3_settings, monkeypatch
):
    write_profile(project, {"dev": redshift_settings()})
    monkeypatch.setenv(S3_ENDPOINT, store.endpoint)

    def released(loader: Loader) -> None:
        # There is no lock before there are tables.
        with suppress(psycopg.errors.InvalidSchemaName, psycopg.errors.UndefinedTable):
            free_lock(loader)

    def make(schema: str) -> Loader:
        return make_loader("redshift", tmp_path, spark, schema=schema)

    program = (sys.executable, "-m", "warehouses.redshift_command")
    command = Command(project, ("--stage", STAGE, *SMALL, *store.options(s3_settings)), program)
    for _ in load_into_a_server_after_kills(make, released, command, lake):
        assert staged_keys(store) == []
