"""A part of a lake: what it leaves out is not read, not in the ledger, and found by a later load."""

from __future__ import annotations

import datetime as dt
import re

import pyarrow as pa
import pytest
from commands import history, load
from conftest import Loader
from lakes import Lake, record_columns

from synctrail.columns import TIMESTAMP
from synctrail.errors import LakeError
from synctrail.selection import EVERYTHING, Selection

DAY = 86_400.0
MIDNIGHT = dt.datetime(2025, 11, 20, tzinfo=dt.UTC)
PREFIX = "sync_tracking_datasets"


@pytest.fixture
def world(lake: Lake) -> Lake:
    """Make a lake of two organizations; the first has two syncs, one of them with a name of any kind."""
    for org, sync, run in (("1", "22", "1"), ("1", "22", "2"), ("1", "s [x]*%20", "3"), ("2", "44", "4")):
        lake.records(f"{org}/{sync}/{run}", "a.0.parquet", record_columns([f"{sync}-{run}"]))
    lake.metadata("1/22/1", {"source_type": "Query"})
    for org in ("1", "2"):
        lake.facts(f"{org}/destinations.parquet", {"id": [org], "type": ["x"], "name": ["x"]})
    return lake


def identifiers(loader: Loader) -> set[str]:
    return {row["record_identifier"] for row in loader.rows("sync_tracking_records")}


def destinations(loader: Loader) -> set[str]:
    return {row["org_id"] for row in loader.rows("destinations")}


@pytest.mark.parametrize(
    ("selection", "found", "files"),
    [
        (Selection(orgs=frozenset("2")), {"44-4"}, 2),
        (Selection(syncs=frozenset({"22"})), {"22-1", "22-2"}, 5),
        (Selection(orgs=frozenset("1"), syncs=frozenset({"s [x]*%20"})), {"s [x]*%20-3"}, 2),
        (Selection(syncs=frozenset({"44", "22", "none"})), {"22-1", "22-2", "44-4"}, 6),
    ],
)
def test_organizations_and_syncs(duckdb_loader, world, selection, found, files):
    """Run a load with a selection and one without; the second has the rest, and all is as of one load."""
    first = duckdb_loader.load(world, selection=selection)
    assert identifiers(duckdb_loader) == found
    assert destinations(duckdb_loader) == set(selection.orgs or "12")
    assert (first.history["files_seen"], first.history["files_loaded"]) == (files, files)
    assert len(duckdb_loader.rows("load_files")) == files

    assert duckdb_loader.load(world).history["files_loaded"] == 7 - files
    assert identifiers(duckdb_loader) == {"22-1", "22-2", "s [x]*%20-3", "44-4"}
    again = duckdb_loader.load(world, selection=selection).history
    assert (again["files_seen"], again["files_loaded"]) == (files, 0)


def test_runs_since_a_date(duckdb_loader, lake):
    """A run counts whole by its newest file; fact tables count always."""
    since = dt.datetime.now(dt.UTC) - dt.timedelta(days=5)
    columns = record_columns
    for path, identifier, days in (
        ("1/22/1/a.0.parquet", "old", 9),
        ("1/22/1/b.0.parquet", "old too", 8),
        ("1/22/2/a.0.parquet", "begun before", 6),
        ("1/22/2/b.0.parquet", "ended after", 4),
        ("1/23/1/a.0.parquet", "another sync's run of that name", 1),
    ):
        run, name = path.rsplit("/", 1)
        content = (lake.root / lake.records(run, name, columns([identifier]))).read_bytes()
        lake.write(f"{PREFIX}/{path}", content, age_seconds=days * DAY)
    facts = {"id": ["1"], "type": ["x"], "name": ["x"]}
    lake.facts("1/destinations.parquet", facts, age_seconds=90 * DAY)
    recent = {"begun before", "ended after", "another sync's run of that name"}
    first = duckdb_loader.load(lake, selection=Selection(since=since))
    assert identifiers(duckdb_loader) == recent
    assert first.history["files_seen"] == 4
    assert destinations(duckdb_loader) == {"1"}
    assert duckdb_loader.load(lake).history["files_loaded"] == 2
    assert identifiers(duckdb_loader) == recent | {"old", "old too"}


def test_the_date_itself_is_in():
    run = f"{PREFIX}/1/22"
    times = {f"{run}/1/a.parquet": MIDNIGHT, f"{run}/2/a.parquet": MIDNIGHT - dt.timedelta(microseconds=1)}
    files = pa.table({"path": pa.array([*times]), "modified_at": pa.array([*times.values()], TIMESTAMP)})
    assert Selection(since=MIDNIGHT).recent(files).column("path").to_pylist() == [f"{run}/1/a.parquet"]
    assert EVERYTHING.recent(files) is files


def test_a_quarantined_file_that_is_left_out_does_not_count(duckdb_loader, world):
    world.write(f"{PREFIX}/2/44/4/bad.parquet", b"PAR1")
    assert not duckdb_loader.load(world).is_complete
    assert duckdb_loader.load(world, selection=Selection(orgs=frozenset("1"))).is_complete
    assert not duckdb_loader.load(world).is_complete


@pytest.mark.parametrize(
    ("selection", "told"),
    [
        (
            Selection(orgs=frozenset("9")),
            "there are no files of --org 9 in {lake}; its organizations are 1, 2",
        ),
        (
            Selection(orgs=frozenset("2"), syncs=frozenset({"22"})),
            "there are no files of --org 2 --sync 22 in {lake}; its syncs are 44",
        ),
    ],
    ids=str,
)
def test_a_selection_of_nothing_names_what_there_is(duckdb_loader, world, selection, told):
    with pytest.raises(LakeError, match=f"^{re.escape(told.format(lake=world.root))}$"):
        duckdb_loader.load(world, selection=selection)
    with pytest.raises(LakeError, match="there are no files in"):
        duckdb_loader.load(str(world.root / PREFIX), selection=selection)


def test_the_options_of_the_command_line(project, world):
    result = load(project, world.root, "--org", "1", "--org", "2", "--sync", "22", "--since", "2020-01-31")
    assert result.returncode == 0, result.stderr
    assert (history(result)["files_seen"], history(result)["rows_loaded"]) == (5, 2)
