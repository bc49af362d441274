"""Loads into Postgres: what a server has of its own. The rules of every warehouse are in the other tests."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from commands import load, synctrail, write_profile
from conftest import Loader, make_loader, postgres_settings
from hard_values import load_as_duckdb_does
from lakes import record_columns
from test_killed_loads import killed_load

from synctrail.errors import WarehouseError
from synctrail.warehouses.base import Commit
from synctrail.warehouses.postgres import PostgresWarehouse

RUN = "1/22/333"


@pytest.fixture
def postgres(tmp_path: Path, spark: Any) -> Loader:
    """Give a loader into a new, empty schema."""
    return make_loader("postgres", tmp_path, spark)


@pytest.fixture
def server() -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """Connect to the server as its superuser."""
    with psycopg.connect(**postgres_settings(), autocommit=True) as connection:
        yield connection


def test_a_lake_in_parts_is_what_duckdb_has_of_it_at_once(postgres, duckdb_loader, tmp_path):
    """Every row of every table: a sample lake in three loads, and a file of hard values in the last."""
    load_as_duckdb_does(postgres, duckdb_loader, tmp_path)


def test_a_text_with_a_nul_loses_no_row(postgres, lake):
    """Nor does a ledger whose detail has one."""
    nul = record_columns(["a\0b", "c"], record_payload=["\0", None], status_message=["\0\0", ""])
    lake.records(RUN, "a.0.parquet", nul)
    lake.records(RUN, "b.0.parquet", record_columns(["x"], sync_run_id=["3\x003"]))
    lake.metadata(RUN, {"source_type": "\0"})
    lake.facts("1/destinations.parquet", {"id": ["\0"], "type": ["x"], "name": ["x"]})
    postgres.load(lake)
    found = [
        (row["record_identifier"], row["record_payload"], row["status_message"])
        for row in postgres.rows("sync_tracking_records")
    ]
    assert found == [("a\ufffdb", "\ufffd", "\ufffd\ufffd"), ("c", None, "")]
    assert [row["source_type"] for row in postgres.rows("sync_tracking_runs")] == ["\ufffd"]
    assert [row["id"] for row in postgres.rows("destinations")] == ["\ufffd"]
    assert any("'3\ufffd3' in a row" in str(row["detail"]) for row in postgres.rows("load_files"))
    assert postgres.warehouse.forget(["a\0b"], [], postgres.warehouse.forgotten()) == 1


def end_sessions(server: psycopg.Connection[Any], condition: str) -> int:
    """End the loader's connections that fulfil a condition, as a restart of the server would."""
    ended = server.execute(
        "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
        f" where application_name like 'synctrail: %' and {condition}"
    ).fetchall()
    return len(ended)


def test_a_connection_that_is_lost_in_the_commit(postgres, lake, server, monkeypatch, capfd):
    """Nothing of the load is there, all of the next one is; nothing is printed but what the error says."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    postgres.load(lake)
    before = postgres.tables(), postgres.rows("load_history")
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    finished = Commit.finished_history

    def lose_connection(commit):
        assert end_sessions(server, "state = 'idle in transaction'") == 1
        return finished(commit)

    with monkeypatch.context() as patch:
        patch.setattr(Commit, "finished_history", lose_connection)
        with pytest.raises(
            WarehouseError, match=r"^the connection to Postgres .* was lost \(.*\); .* run the command again$"
        ):
            postgres.load(lake)
    assert capfd.readouterr().err == ""
    assert (postgres.tables(), postgres.rows("load_history")) == before

    # A load that loses its lock alone is kept, and so is all that another one has brought by then.
    lake.records(RUN, "b.0.parquet", record_columns(["b"]))
    commit = postgres.warehouse.commit

    def lose_lock(planned):
        assert end_sessions(server, "state = 'idle'") == 1
        return commit(planned)

    monkeypatch.setattr(postgres.warehouse, "commit", lose_lock)
    postgres.load(lake)
    assert sorted(row["record_identifier"] for row in postgres.rows("sync_tracking_records")) == [
        "b",
        "changed",
    ]


def test_rows_that_do_not_come_back_from_where_they_were_staged(postgres, lake, monkeypatch):
    """As where Spark's executors have disks of their own."""
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    commit = postgres.warehouse.commit

    def lose_rows(planned):
        shutil.rmtree(postgres.warehouse._work)
        return commit(planned)

    monkeypatch.setattr(postgres.warehouse, "commit", lose_rows)
    with pytest.raises(
        WarehouseError, match=r"0 of 1 rows were found in .*, nothing of the load was kept; set TMPDIR"
    ):
        postgres.load(lake)
    assert postgres.warehouse.history().num_rows == 0


@pytest.mark.slow
def test_a_load_that_is_killed_in_its_commit_and_the_commands(project, lake, duckdb_loader, tmp_path, server):
    """As users run them; with a schema in whose name nothing means anything."""
    server.execute('drop schema if exists "raw 100%s" cascade')
    target = {"type": "postgres", **postgres_settings(), "schema": "models"}
    write_profile(project, {"dev": target})
    (project / "dbt_project.yml").write_text(
        "name: shop\nprofile: shop\nvars: {synctrail_census_lake_schema: raw 100%s}\n"
    )
    postgres = make_loader("postgres", tmp_path, duckdb_loader.spark, schema="raw 100%s")
    lake.records(RUN, "a.0.parquet", record_columns([f"user-{number}" for number in range(2_000)]))
    lake.metadata(RUN, {"source_type": "Query"})
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    killed_load(project, lake, "within commit")
    assert server.execute("select count(*) from pg_namespace where nspname = 'raw 100%s'").fetchone() == (0,)

    whole = load(project, lake.root, "--wait", "30")
    assert whole.returncode == 0, whole.stderr
    assert "committing to Postgres 127.0.0.1:" in whole.stderr
    duckdb_loader.load(lake)
    assert postgres.tables() == duckdb_loader.tables()
    assert not postgres.warehouse._work.exists()

    status = json.loads(synctrail(project, "status", "--json").stdout)
    assert {row["kind"]: row["rows"] for row in status["loaded"]}["records"] == 2_000
    assert len(status["loads"]) == 1
    erased = synctrail(project, "forget", "user-7")
    assert json.loads(erased.stdout) == {"identifiers": 1, "rows_erased": 1}
    pruned = synctrail(project, "prune", "--before", "2100-01-01", "--yes")
    assert json.loads(pruned.stdout)["is_done"], pruned.stderr
    assert postgres.rows("sync_tracking_records") == []


def test_a_server_that_cannot_be_used(server):
    """Each is told in one line, without the password, before Spark starts."""
    server.execute("drop role if exists guarded")
    server.execute("create role guarded login password 'right'")
    (rules,) = server.execute("show hba_file").fetchone() or ()
    rule = "host all guarded 127.0.0.1/32 scram-sha-256"
    server.execute(f"copy (select '{rule}' union all select 'host all all 127.0.0.1/32 trust') to '{rules}'")
    server.execute("select pg_reload_conf()")
    server.execute("drop database if exists narrow")
    server.execute("create database narrow template template0 encoding 'LATIN1' locale 'C'")
    for change, told in (
        ({"user": "guarded", "password": "wrong-one"}, 'password authentication failed for user "guarded"'),
        ({"host": "nowhere.invalid"}, "nowhere.invalid"),
        ({"port": 1}, "refused"),
        ({"dbname": "nothing"}, 'database "nothing" does not exist'),
        ({"dbname": "narrow"}, "has the encoding LATIN1"),
    ):
        with pytest.raises(WarehouseError) as error:
            PostgresWarehouse(postgres_settings() | change, "census_lake").check()
        assert told in str(error.value)
        assert "\n" not in str(error.value)
        assert "wrong-one" not in str(error.value)
    PostgresWarehouse(postgres_settings() | {"user": "guarded", "password": "right"}, "census_lake").check()


def test_rights_that_are_missing_are_told_before_the_lake_is_read(postgres, lake, server):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    for name in ("reader", "writer"):
        server.execute(f"drop role if exists {name}")
        server.execute(f"create role {name} login")
    schema = postgres.warehouse._schema

    def of(user: str) -> PostgresWarehouse:
        return PostgresWarehouse(postgres_settings() | {"user": user}, schema)

    told = r"^no permission in Postgres .*: permission denied for database postgres; give reader the right"
    with pytest.raises(WarehouseError, match=told), of("reader").lock(0):
        pytest.fail("the load began")
    assert server.execute("select 1 from pg_namespace where nspname = %s", [schema]).fetchone() is None

    # The rights that a load needs on tables of somebody else, and no others.
    postgres.load(lake)
    server.execute(f"grant usage on schema {schema} to reader, writer")
    server.execute(f"grant select on all tables in schema {schema} to reader")
    server.execute(f"grant select, insert, update, delete on all tables in schema {schema} to writer")
    assert of("reader").ledger().num_rows == 1
    writer = Loader(of("writer"), postgres.spark, postgres.select)
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    writer.load(lake)
    assert [row["record_identifier"] for row in postgres.rows("sync_tracking_records")] == ["changed"]
    server.execute("drop owned by reader, writer")


def test_a_role_to_act_as(postgres, lake, server):
    server.execute("drop role if exists owner_of_all")
    server.execute("create role owner_of_all")
    server.execute("grant create on database postgres to owner_of_all")
    schema = postgres.warehouse._schema
    with PostgresWarehouse(postgres_settings(), schema, role="owner_of_all").lock(0):
        pass
    warehouse = PostgresWarehouse(postgres_settings(), schema, role="owner_of_all")
    assert warehouse.forget(["a"], [], warehouse.forgotten()) == 0
    owners = server.execute("select distinct tableowner from pg_tables where schemaname = %s", [schema])
    assert owners.fetchall() == [("owner_of_all",)]
    server.execute("drop owned by owner_of_all cascade")


def test_the_lock_is_of_the_schema_and_free_for_others(postgres, tmp_path):
    other = make_loader("postgres", tmp_path, postgres.spark)
    told = rf"another load is running \(process {os.getpid()} on .*\); wait for it to end, or give --wait"
    with (
        postgres.warehouse.lock(0),
        other.warehouse.lock(0),
        pytest.raises(WarehouseError, match=told),
        postgres.warehouse.lock(0.5),
    ):
        pytest.fail("the lock was given twice")
    with postgres.warehouse.lock(0):
        pass
