"""Loads by a user who may not read all of the lake, or not write the warehouse."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest
from commands import history, load, write_profile
from conftest import make_loader
from lakes import Lake, record_columns

from synctrail.plan import retry_plan

RUN = "1/22/333"
_PR_CAPBSET_DROP = 24
# CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH: why permissions do not count for root.
_ROOTS_RIGHTS = (1, 2)

Load = Callable[..., subprocess.CompletedProcess[str]]


def give_up_roots_rights() -> None:
    """Let permissions count in this process and its children, though it is root's.

    Another user would have to be able to read the interpreter, which may lie in root's home.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for right in _ROOTS_RIGHTS:
        if libc.prctl(_PR_CAPBSET_DROP, right, 0, 0, 0):
            raise OSError(ctypes.get_errno(), "prctl")


@contextmanager
def mode(path: Path, bits: int) -> Iterator[None]:
    before = path.stat().st_mode
    path.chmod(bits)
    try:
        yield
    finally:
        path.chmod(before)


@pytest.fixture
def load_denied(project: Path, tmp_path: Path) -> Load:
    """Load as a user for whom permissions count."""
    before_start = give_up_roots_rights if os.geteuid() == 0 else None
    probe = tmp_path / "probe"
    probe.mkdir(mode=0)
    try:
        listed = subprocess.run(
            ["ls", probe], preexec_fn=before_start, capture_output=True, check=False
        ).returncode
    except subprocess.SubprocessError:
        pytest.skip("this root may not give up its rights")
    finally:
        probe.rmdir()
    if listed == 0:
        pytest.skip("permissions do not count for this user or on this file system")

    def run(lake: Lake, *options: str) -> subprocess.CompletedProcess[str]:
        return load(project, lake.root, *options, before_start=before_start)

    return run


def assert_refused(result: subprocess.CompletedProcess[str], *told: str) -> None:
    """Assert that a load failed with one line that says all of ``told``."""
    assert (result.returncode, result.stdout) == (1, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith("synctrail: ")
    for part in told:
        assert part in line


@pytest.mark.parametrize(
    ("folder", "bits"),
    [
        ("", 0),
        ("sync_tracking_datasets", 0),
        (f"sync_tracking_datasets/{RUN}", 0),
        # It tells the names of its files, and no more: Spark would take it for an empty one.
        (f"sync_tracking_datasets/{RUN}", 0o444),
        ("metadata/1/destinations", 0o111),
    ],
    ids=["root", "prefix", "run", "run that may not be entered", "facts that may not be listed"],
)
def test_a_lake_that_may_not_be_listed_is_no_empty_lake(load_denied, lake, tmp_path, folder, bits):
    lake.records("1/22/332", "a.0.parquet", record_columns(["a"]))
    lake.records(RUN, "a.0.parquet", record_columns(["b"]))
    lake.facts("1/destinations/a.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    denied, before = lake.root / folder, lake.state()
    with mode(denied, bits):
        assert_refused(
            load_denied(lake), f"no permission to list {denied};", "the right to read and to enter"
        )
    assert lake.state() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"project", "lake"}


def test_a_lake_below_a_folder_that_may_not_be_entered(load_denied, tmp_path):
    lake = Lake(tmp_path / "closed" / "lake")
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    with mode(lake.root.parent, 0):
        assert_refused(load_denied(lake), f"no permission to list {lake.root};", "each folder above it")


def test_an_unreadable_file_stops_nothing_and_an_unreadable_folder_that_is_no_data_neither(
    load_denied, project, lake, tmp_path, spark
):
    loader = make_loader("duckdb", tmp_path, spark)
    write_profile(project, {"dev": {"type": "duckdb", "path": str(loader.warehouse._database)}})
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    path = lake.records("1/22/334", "a.0.parquet", record_columns(["b"]))
    no_data = [
        (lake.root / lake.write(hidden, b"no")).parent
        for hidden in ("sync-unloads/part.parquet", "sync_tracking_datasets/1/_temporary/part.parquet")
    ]
    with mode(no_data[0], 0), mode(no_data[1], 0), mode(lake.root / path, 0):
        result = load_denied(lake)
    assert result.returncode == 3, result.stderr
    detail = "the file is listed, but cannot be opened; make it readable, then run: synctrail retry"
    assert f"quarantined {path}: unreadable, {detail}" in result.stderr.splitlines()
    assert (history(result)["files_loaded"], history(result)["files_quarantined"]) == (1, 1)
    ledger = {row["path"]: row for row in loader.rows("load_files")}
    assert (ledger[path]["status"], ledger[path]["reason"]) == ("quarantined", "unreadable")
    assert [row["record_identifier"] for row in loader.rows("sync_tracking_records")] == ["a"]

    # What the detail advises is enough.
    assert not loader.load(lake).is_complete
    assert loader.load(lake, planner=retry_plan).is_complete
    assert {row["record_identifier"] for row in loader.rows("sync_tracking_records")} == {"a", "b"}


@pytest.mark.parametrize("bits", [0o555, 0], ids=["may not be written", "may not be entered"])
def test_a_warehouse_folder_without_permission(load_denied, lake, project, bits):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    folder = project / "warehouse"
    folder.mkdir()
    write_profile(project, {"dev": {"type": "duckdb", "path": str(folder / "shop.duckdb")}})
    with mode(folder, bits):
        told = (f"no permission to write {folder};", "or correct path in profiles.yml")
        assert_refused(load_denied(lake), *told)
        assert "Traceback" in load_denied(lake, "--debug").stderr
    assert not list(folder.iterdir())


def test_a_database_that_may_only_be_read(load_denied, lake, tmp_path):
    lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    database = tmp_path / "shop.duckdb"
    duckdb.connect(database).close()
    before = database.read_bytes()
    with mode(database, 0o444):
        assert_refused(load_denied(lake), f"no permission to write {database};")
    assert database.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"project", "lake", "shop.duckdb"}
