"""Loads into every warehouse: the rules L1 to L8 of the contract."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from conftest import Loader, make_loader
from lakes import ENDED, STARTED, Lake, parquet_bytes, record_columns

from synctrail.errors import BusyError, LakeError
from synctrail.load import LoadResult
from synctrail.stage import RECORDS

RUN = "1/22/333"
FOLDER = f"sync_tracking_datasets/{RUN}"
STAGING_COLUMNS = {
    "sync_tracking_records": (
        "log_id org_id sync_id sync_run_id record_identifier record_payload operation status status_message"
        " batch_started_at batch_completed_at batch_type batch_number _extra _source_file _source_row"
        " _file_modified_at _load_id _loaded_at"
    ),
    "sync_tracking_runs": (
        "org_id workspace_id sync_id sync_run_id source_type source_id source_object_id destination_type"
        " destination_id destination_object_id sync_run_started_at record_payload_schema metadata"
        " _source_file _load_id _loaded_at"
    ),
    "source_objects": (
        "id type name model_id business_object_id filter_segment_id cohort_id org_id _source_file _load_id"
        " _loaded_at"
    ),
    "destinations": "id type name org_id _source_file _load_id _loaded_at",
    "destination_objects": "id type name org_id _source_file _load_id _loaded_at",
    "load_files": (
        "path size_bytes modified_at kind status reason detail row_count load_id loaded_at org_id sync_id"
        " sync_run_id batch_type batch_number refresh file_key"
    ),
    "load_history": (
        "load_id lake started_at finished_at files_seen files_loaded files_quarantined rows_loaded bytes_read"
        " status"
    ),
}


def hashed(path: str, row: int) -> str:
    return hashlib.md5(f"{path}:{row}".encode()).hexdigest()


class World:
    """A lake with one of everything, loaded once into a warehouse."""

    def __init__(self, kind: str, folder: Path, spark: Any) -> None:
        self.lake = Lake(folder / "la ke [x]{y}*?%20#é'")
        self.lake.root.mkdir()
        self.names = self._write()
        self.before = self.lake.state()
        self.loader = make_loader(kind, folder, spark)
        self.result: LoadResult = self.loader.load(self.lake)
        self.files = {row["path"]: row for row in self.loader.rows("load_files")}

    def _write(self) -> dict[str, str]:
        lake = self.lake
        first = record_columns(["a", "b", "c"], census_sync_tracking_internal_id=["id-1", "id-2", None])
        names = {
            "first era": lake.records(RUN, "records_updated.parquet", first),
            "middle era": lake.records(RUN, "records_updated.0.parquet", record_columns(["a", None])),
            "last era": lake.records(
                RUN,
                "records_updated.1.parquet",
                record_columns(
                    [1, 2], sync_configuration_id=[22, 22], sync_run_id=["333", None], region=["EU", None]
                ),
            ),
            "int96": lake.records(
                RUN, "records_updated.2.parquet", record_columns(["a"]), use_deprecated_int96_timestamps=True
            ),
            "text times": lake.records(
                RUN,
                "records_invalid.0.parquet",
                record_columns(
                    ["a", "b"],
                    status=["NULL", None],
                    batch_started_at=["2025-11-20T11:00:00.123456+01:00", ""],
                    batch_ended_at=pa.array([ENDED.replace(tzinfo=None)] * 2, pa.timestamp("ns")),
                ),
            ),
            "odd name": lake.records("ü #1/s%20/r[0]", "it's {a}*?.7.parquet", record_columns(["a"])),
            "no rows": lake.records("1/22/334", "records_updated.0.parquet", record_columns([])),
            "metadata": lake.metadata(
                RUN,
                {
                    "organizationId": 999,
                    "workspace_id": 5,
                    "source": {"type": "Query", "id": 7},
                    "sync_run_started_at": "2025-11-20T10:00:00Z",
                    "record_payload_schema": {"id": "string"},
                },
            ),
            "lone metadata": lake.metadata("1/23/400", {"source_type": "Table"}),
            "source objects": lake.facts(
                "1/source_objects.parquet",
                {"id": [5, 6], "type": ["Query", "Table"], "name": ["a", None], "model_id": [1, None]},
            ),
            "destinations": lake.facts(
                "1/dim_1.parquet", {"id": ["6"], "type": ["Braze::Connection"], "name": ["B"]}
            ),
            "destination objects": lake.facts(
                "1/destination_objects/part-0.parquet",
                {"id": [7], "type": ["Braze::ObjectTypes::User"], "x": [1]},
            ),
        }
        good = parquet_bytes(record_columns(["x"] * 100))
        damaged = bytearray(parquet_bytes(record_columns([f"u{n}" for n in range(1000)]), row_group_size=200))
        damaged[len(damaged) // 2 : len(damaged) // 2 + 2000] = b"\xff" * 2000
        without_status = record_columns(["x"])
        del without_status["status"]
        bad = {
            "empty_file": b"",
            "not_parquet": b"not a parquet file",
            "truncated": good[: len(good) // 2],
            "unreadable": bytes(damaged),
            "missing_columns": parquet_bytes(without_status),
            "type_conflict": parquet_bytes(record_columns(["x"], batch_started_at=[1763633045])),
            "identity_mismatch": parquet_bytes(record_columns(["x"], sync_run_id=["9"])),
        }
        for reason, content in bad.items():
            names[reason] = lake.write(f"sync_tracking_datasets/1/22/bad/{reason}.0.parquet", content)
        names["invalid_json"] = lake.metadata("1/22/bad", b"{")
        lake.records(RUN, "_hidden.parquet", record_columns(["no"]))
        lake.write(f"{FOLDER}/readme.txt", b"no")
        lake.write("sync-unloads/1/22/333/part.parquet", b"no")
        return names

    def records(self, name: str) -> list[dict[str, Any]]:
        """Return the rows of one of the files, in their order."""
        rows = [r for r in self.loader.rows("sync_tracking_records") if r["_source_file"] == self.names[name]]
        return sorted(rows, key=lambda row: row["_source_row"])


@pytest.fixture(scope="module")
def world(warehouse_kind, tmp_path_factory, spark) -> World:
    return World(warehouse_kind, tmp_path_factory.mktemp("world"), spark)


def test_tables_have_the_contracts_columns(world):
    for table, columns in STAGING_COLUMNS.items():
        assert list(world.loader.rows(table)[0]) == columns.split()


def test_rows_of_the_first_era(world):
    rows = world.records("first era")
    path = world.names["first era"]
    assert [row["log_id"] for row in rows] == ["id-1", "id-2", hashed(path, 2)]
    assert (rows[0]["batch_type"], rows[0]["batch_number"]) == ("records_updated", None)


def test_a_row_in_full(world):
    path = world.names["middle era"]
    row = world.records("middle era")[0]
    modified = dt.datetime.fromtimestamp((world.lake.root / path).stat().st_mtime, dt.UTC)
    assert row.pop("_loaded_at") is not None
    assert abs(row.pop("_file_modified_at").replace(tzinfo=dt.UTC) - modified) < dt.timedelta(seconds=1)
    assert row == {
        "log_id": hashed(path, 0),
        "org_id": "1",
        "sync_id": "22",
        "sync_run_id": "333",
        "record_identifier": "a",
        "record_payload": '{"id": "a"}',
        "operation": "upsert",
        "status": "succeeded",
        "status_message": None,
        "batch_started_at": STARTED.replace(tzinfo=None),
        "batch_completed_at": ENDED.replace(tzinfo=None),
        "batch_type": "records_updated",
        "batch_number": 0,
        "_extra": None,
        "_source_file": path,
        "_source_row": 0,
        "_load_id": world.result.history["load_id"],
    }


def test_numbers_and_further_columns(world):
    rows = world.records("last era")
    assert [row["record_identifier"] for row in rows] == ["1", "2"]
    assert [json.loads(row["_extra"]) for row in rows] == [{"region": "EU"}, {"region": None}]


def test_times_in_every_encoding_are_one(world):
    assert world.records("int96")[0]["batch_started_at"] == STARTED.replace(tzinfo=None)
    text = world.records("text times")
    assert [row["batch_started_at"] for row in text] == [STARTED.replace(tzinfo=None), None]
    assert text[1]["batch_completed_at"] == ENDED.replace(tzinfo=None)
    assert [row["status"] for row in text] == ["NULL", None]


def test_names_of_any_kind(world):
    row = world.records("odd name")[0]
    assert (row["org_id"], row["sync_id"], row["sync_run_id"]) == ("ü #1", "s%20", "r[0]")
    assert (row["batch_type"], row["batch_number"]) == ("it's {a}*?", 7)
    assert row["log_id"] == hashed(world.names["odd name"], 0)


def test_log_ids_are_unique(world):
    ids = [row["log_id"] for row in world.loader.rows("sync_tracking_records")]
    assert len(ids) == len(set(ids)) == 11


@pytest.mark.parametrize(
    "reason",
    [
        "empty_file",
        "not_parquet",
        "truncated",
        "unreadable",
        "missing_columns",
        "type_conflict",
        "identity_mismatch",
        "invalid_json",
    ],
)
def test_bad_files_are_quarantined_whole(world, reason):
    file = world.files[world.names[reason]]
    assert (file["status"], file["reason"], file["row_count"]) == ("quarantined", reason, None)
    assert file["detail"]
    assert file["kind"] == ("run_metadata" if reason == "invalid_json" else "records")
    assert world.records(reason) == []


def test_the_ledger_has_every_file(world):
    assert set(world.files) == set(world.names.values())
    empty = world.files[world.names["no rows"]]
    assert (empty["status"], empty["row_count"], empty["reason"]) == ("loaded", 0, None)
    for path, file in world.files.items():
        assert file["size_bytes"] == (world.lake.root / path).stat().st_size
        assert file["load_id"] == world.result.history["load_id"]
    assert world.files[world.names["destinations"]]["kind"] == "destinations"


def test_every_run_has_a_row(world):
    runs = {
        (row["org_id"], row["sync_id"], row["sync_run_id"]): row
        for row in world.loader.rows("sync_tracking_runs")
    }
    assert set(runs) == {
        ("1", "22", "333"),
        ("1", "22", "334"),
        ("1", "22", "bad"),
        ("1", "23", "400"),
        ("ü #1", "s%20", "r[0]"),
    }
    described = runs["1", "22", "333"]
    assert (described["org_id"], described["workspace_id"], described["source_id"]) == ("1", "5", "7")
    assert described["sync_run_started_at"] == dt.datetime(2025, 11, 20, 10)
    assert json.loads(described["record_payload_schema"]) == {"id": "string"}
    assert json.loads(described["metadata"])["organizationId"] == 999
    assert described["_source_file"] == world.names["metadata"]
    bare = runs["1", "22", "bad"]
    assert bare["_load_id"] == world.result.history["load_id"]
    assert [bare[name] for name in ("metadata", "source_type", "sync_run_started_at", "_source_file")] == [
        None
    ] * 4
    assert runs["1", "23", "400"]["source_type"] == "Table"


def test_fact_tables(world):
    rows = world.loader.rows("source_objects")
    assert [(row["id"], row["type"], row["name"], row["model_id"]) for row in rows] == [
        ("5", "Query", "a", "1"),
        ("6", "Table", None, None),
    ]
    assert rows[0]["org_id"] == "1"
    assert rows[0]["_source_file"] == world.names["source objects"]
    assert [row["id"] for row in world.loader.rows("destinations")] == ["6"]
    assert [row["type"] for row in world.loader.rows("destination_objects")] == ["Braze::ObjectTypes::User"]


def test_the_history(world):
    (row,) = world.loader.rows("load_history")
    assert row["files_seen"] == len(world.names)
    assert row["files_quarantined"] == 8
    assert row["files_loaded"] == len(world.names) - 8
    assert row["rows_loaded"] == 11
    assert row["bytes_read"] == sum(file["size_bytes"] for file in world.files.values())
    assert row["status"] == "succeeded_with_quarantine"
    assert row["started_at"] <= row["finished_at"]
    told = {
        name: value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
        for name, value in world.result.history.items()
    }
    assert told == row
    assert not world.result.is_complete


def test_the_lake_is_only_read(world):
    assert world.lake.state() == world.before


def test_a_lake_that_grows_and_changes(loader, lake):
    """L2, L3, L4: after any series of loads the tables are those of the lake's last state."""
    kept = lake.records(RUN, "a.0.parquet", record_columns(["kept"]))
    changed = lake.records(RUN, "b.0.parquet", record_columns(["old", "older"]))
    gone = lake.records(RUN, "c.0.parquet", record_columns(["gone"]))
    spoilt = lake.records(RUN, "d.0.parquet", record_columns(["spoilt"]))
    mended = lake.write(f"{FOLDER}/e.0.parquet", b"")
    first = loader.load(lake)
    assert identifiers(loader) == ["gone", "kept", "old", "older", "spoilt"]
    assert runs(loader) == [("333", None)]
    before = loader.tables()

    nothing = loader.load(lake)
    assert loader.tables() == before
    assert {row["load_id"] for row in loader.rows("load_files")} == {first.history["load_id"]}
    assert [
        nothing.history[name]
        for name in ("files_seen", "files_loaded", "files_quarantined", "rows_loaded", "bytes_read")
    ] == [5, 0, 0, 0, 0]
    assert nothing.history["status"] == "succeeded_with_quarantine"
    assert len(loader.rows("load_history")) == 2

    lake.records(RUN, "b.0.parquet", record_columns(["new"]))
    lake.remove(gone)
    lake.write(spoilt, b"PAR1")
    lake.write(mended, parquet_bytes(record_columns(["mended"])))
    lake.metadata(RUN, {"source_type": "Query"})
    lake.records("1/22/334", "a.0.parquet", record_columns(["next run"]))
    second = loader.load(lake)
    assert identifiers(loader) == ["gone", "kept", "mended", "new", "next run"]
    assert runs(loader) == [("333", "Query"), ("334", None)]
    assert (second.history["files_loaded"], second.history["files_quarantined"]) == (4, 1)
    ledger = {row["path"]: row for row in loader.rows("load_files")}
    assert ledger[spoilt]["reason"] == "truncated"
    assert (ledger[mended]["status"], ledger[mended]["reason"]) == ("loaded", None)
    assert (ledger[gone]["status"], ledger[kept]["load_id"]) == ("loaded", first.history["load_id"])
    assert ledger[changed]["row_count"] == 1

    lake.write(spoilt, parquet_bytes(record_columns(["whole again"])))
    lake.metadata(RUN, b"[]")
    os.utime(lake.root / kept, (1, 1))
    third = loader.load(lake)
    assert identifiers(loader) == ["gone", "kept", "mended", "new", "next run", "whole again"]
    assert runs(loader) == [("333", None), ("334", None)]
    kept_row = next(row for row in loader.rows("sync_tracking_records") if row["_source_file"] == kept)
    assert kept_row["_file_modified_at"] == dt.datetime(1970, 1, 1, 0, 0, 1)
    assert kept_row["_load_id"] == third.history["load_id"]
    lake.metadata(RUN, {"source_type": "Table"})
    assert loader.load(lake).is_complete
    assert runs(loader) == [("333", "Table"), ("334", None)]


def identifiers(loader: Loader) -> list[str]:
    return sorted(row["record_identifier"] for row in loader.rows("sync_tracking_records"))


def runs(loader: Loader) -> list[tuple[str, str | None]]:
    return sorted((row["sync_run_id"], row["source_type"]) for row in loader.rows("sync_tracking_runs"))


def test_the_latest_refresh_of_each_org(loader, lake):
    day = 86_400.0

    def names() -> list[tuple[str, str]]:
        return sorted((row["org_id"], row["name"]) for row in loader.rows("destinations"))

    def facts(path: str, *names: str, age: float) -> None:
        columns = {
            "id": [str(number) for number in range(len(names))],
            "type": ["x"] * len(names),
            "name": names,
        }
        lake.facts(path, {name: list(values) for name, values in columns.items()}, age_seconds=age)

    facts("1/destinations.parquet", "one", "two", age=3 * day)
    facts("2/destinations.parquet", "other", age=9 * day)
    loader.load(lake)
    assert names() == [("1", "one"), ("1", "two"), ("2", "other")]

    # A refresh of another name that is newer, and one that is older and counts for nothing.
    facts("1/destinations_b.parquet", "uno", age=2 * day)
    facts("1/destinations_z.parquet", "ancient", age=8 * day)
    loader.load(lake)
    assert names() == [("1", "uno"), ("2", "other")]

    # A folder of parts is one refresh; a part left from an earlier one is not of it; of rows with one id the
    # newest counts.
    facts("1/destinations/part-0.parquet", "eins", "zwei", age=day)
    facts("1/destinations/part-1.parquet", "eins!", age=day - 60)
    facts("1/destinations/part-old.parquet", "left", "over", "by", "far", age=day + 7200)
    loader.load(lake)
    assert names() == [("1", "eins!"), ("1", "zwei"), ("2", "other")]

    # The same file again, in place; a bad one counts for nothing.
    facts("1/destinations_b.parquet", "dos", age=60)
    lake.write("metadata/2/destinations.9.parquet", b"PAR1")
    loader.load(lake)
    assert names() == [("1", "dos"), ("2", "other")]


def test_two_loads_at_once_neither_repeat_nor_lose_rows(loader, lake, monkeypatch):
    """Without a lock between them, as two machines are: one load commits while another is at work."""
    if loader.warehouse.name.startswith(("BigQuery", "DuckDB", "Redshift", "Snowflake")):
        pytest.skip("none commits there without the lock, which is tested by itself")
    lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))
    loader.load(lake)
    lake.records(RUN, "a.0.parquet", record_columns(["new a"]))
    lake.records(RUN, "b.0.parquet", record_columns(["c"]))
    commit = loader.warehouse.commit

    def commit_second(planned):
        monkeypatch.setattr(loader.warehouse, "commit", commit)
        with monkeypatch.context() as patch:
            patch.setattr(type(loader.warehouse), "lock", NoLock)
            loader.load(lake)
        return commit(planned)

    monkeypatch.setattr(loader.warehouse, "commit", commit_second)
    loader.load(lake)
    assert identifiers(loader) == ["c", "new a"]
    assert len(loader.rows("load_files")) == 2
    assert len(loader.rows("load_history")) == 3


class NoLock:
    def __init__(self, *_: Any) -> None:
        pass

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass


def test_a_load_that_fails_leaves_everything_as_it_was(loader, lake, monkeypatch):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    loader.load(lake)
    before = loader.tables(), loader.rows("load_history")
    lake.records(RUN, "a.0.parquet", record_columns(["changed"]))
    lake.records(RUN, "b.0.parquet", record_columns(["b"]))

    def fail(_):
        raise RuntimeError("the power is gone")

    with monkeypatch.context() as patch:
        patch.setattr(loader.warehouse, "commit", fail)
        with pytest.raises(RuntimeError):
            loader.load(lake)
    assert (loader.tables(), loader.rows("load_history")) == before
    loader.load(lake)
    assert identifiers(loader) == ["b", "changed"]
    assert staged_leftovers(loader, lake) == 0


def staged_leftovers(loader: Loader, lake: Lake) -> int:
    """Count the folders of staged rows that belong to no committed load."""
    committed = {row["load_id"] for row in loader.rows("load_history")}
    if loader.warehouse.name.startswith("Redshift"):
        # Only the environment of the stand-ins has Amazon's connector.
        from redshift_look import stage_store, staged_keys  # noqa: PLC0415

        return len(staged_keys(stage_store(loader.spark)))
    if not loader.warehouse.needs_spark:
        return int(loader.warehouse._work.exists())
    details = loader.spark.sql(
        f"describe table extended {loader.warehouse.name.rsplit(' ', 1)[1]}.{RECORDS.name}"
    ).collect()
    location = next(row.data_type for row in details if row.col_name == "Location").removeprefix("file:")
    staged = {folder.name.partition("=")[2] for folder in Path(location).rglob("load_id=*")}
    return len(staged - committed)


def test_a_file_that_vanishes_while_it_is_read(duckdb_loader, lake, monkeypatch):
    kept = lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    gone = lake.records(RUN, "b.0.parquet", record_columns(["b"]))
    stage = duckdb_loader.warehouse.stage

    def stage_later(*arguments):
        if (lake.root / gone).exists():
            lake.remove(gone)
        return stage(*arguments)

    monkeypatch.setattr(duckdb_loader.warehouse, "stage", stage_later)
    result = duckdb_loader.load(lake)
    assert [row["path"] for row in duckdb_loader.rows("load_files")] == [kept]
    assert (result.history["files_seen"], result.history["files_loaded"]) == (2, 1)
    assert result.history["bytes_read"] == (lake.root / kept).stat().st_size
    assert "1 files vanished" in duckdb_loader.told.getvalue()


def test_no_byte_of_a_known_file_is_read(duckdb_loader, lake):
    """The known file is overwritten with nothing, at the same size and time: nobody notices."""
    path = lake.root / lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    duckdb_loader.load(lake)
    stat = path.stat()
    path.write_bytes(b"\x00" * stat.st_size)
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    lake.records(RUN, "b.0.parquet", record_columns(["b"]))
    assert duckdb_loader.load(lake).is_complete
    assert identifiers(duckdb_loader) == ["a", "b"]


@pytest.mark.parametrize("folder", ["sync_tracking_datasets", "metadata"])
def test_one_of_the_prefixes_is_enough(duckdb_loader, lake, folder):
    if folder == "metadata":
        lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    else:
        lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    assert duckdb_loader.load(lake).history["files_loaded"] == 1


@pytest.mark.parametrize("folder", [None, "sync_tracking_datasets", "metadata/1", "sync-unloads"])
def test_an_empty_lake_is_told(duckdb_loader, lake, folder):
    if folder:
        (lake.root / folder).mkdir(parents=True)
        if folder == "sync-unloads":
            lake.write("sync-unloads/part.parquet", b"no")
    with pytest.raises(LakeError, match="there are no files in"):
        duckdb_loader.load(lake)
    assert [entry.name for entry in lake.root.parent.iterdir()] == ["lake"]


def test_a_lake_under_another_spelling_is_the_same(duckdb_loader, lake, monkeypatch):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    duckdb_loader.load(lake)
    monkeypatch.chdir(lake.root.parent)
    for spelling in ("lake", "./lake/", f"file://{lake.root}", f"file:{lake.root}/"):
        assert duckdb_loader.load(spelling).history["files_loaded"] == 0


def test_a_second_load_is_refused_by_name(loader, lake):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    with loader.warehouse.lock(0), pytest.raises(BusyError, match=f"process {os.getpid()} on .*--wait"):
        loader.load(lake)
    loader.load(lake)
    assert identifiers(loader) == ["a"]
