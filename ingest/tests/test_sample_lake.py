"""The sample lake holds what it promises: every phenomenon is looked up in the files that were written."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer
from typer.testing import CliRunner

from synctrail.columns import as_text, as_timestamp
from synctrail.errors import UsageError
from synctrail.run_metadata import parse_metadata
from synctrail.sample_lake import LEAST_ROWS, default_runs, write_sample_lake
from synctrail.sample_lake.command import sample_lake
from synctrail.sample_lake.schedule import LEAST_RUNS

_CONTRACT_COLUMNS = {
    "census_sync_tracking_internal_id",
    "identifier",
    "record_payload",
    "operation",
    "status",
    "status_message",
    "batch_started_at",
    "batch_ended_at",
    "batch_completed_at",
    "sync_configuration_id",
    "sync_run_id",
}
_TEXTS = ("identifier", "record_payload", "operation", "status", "status_message")
_ATTEMPTED = ("succeeded", "rejected")
# Runs of syncs that send changes or events: not those of the sheet, which is replaced by each run.
_SHEET = "31007"
_SEGMENTS = ("31001", "31002", "411")
_EVENTS = "2040"
_STALE = "402"
_SLOW = "403"
_CREATING = "2050"


@dataclass(frozen=True)
class RecordFile:
    """One record file as it lies there."""

    path: Path
    org_id: str
    sync_id: str
    sync_run_id: str
    schema: pa.Schema
    physical_types: dict[str, str]

    @property
    def run(self) -> tuple[str, str, str]:
        """The run that the file belongs to."""
        return self.org_id, self.sync_id, self.sync_run_id


@dataclass(frozen=True)
class Lake:
    """A lake, read back with pyarrow and queried with DuckDB."""

    root: Path
    rows: int
    runs: int
    files: list[RecordFile]
    metadata: dict[tuple[str, str, str], dict[str, Any]]
    db: duckdb.DuckDBPyConnection

    def query(self, sql: str) -> list[tuple[Any, ...]]:
        """Return what a query over the table ``attempts`` finds."""
        return self.db.sql(sql).fetchall()

    def count(self, condition: str) -> int:
        """Return how many attempts meet a condition."""
        return int(self.query(f"select count(*) from attempts where {condition}")[0][0])

    def folders(self) -> list[Path]:
        """Return the runs' folders."""
        return sorted((self.root / "sync_tracking_datasets").glob("*/*/*"))


def read_back(root: Path, rows: int, runs: int) -> Lake:
    files: list[RecordFile] = []
    tables: list[pa.Table] = []
    for path in sorted((root / "sync_tracking_datasets").glob("*/*/*/*.parquet")):
        parquet = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
        physical = {column.name: column.physical_type for column in parquet.schema}
        org_id, sync_id, sync_run_id = _run(path)
        file = RecordFile(path, org_id, sync_id, sync_run_id, parquet.schema_arrow, physical)
        files.append(file)
        tables.append(_normalised(file, parquet.read()))
    metadata = {
        _run(path): parse_metadata(path.read_bytes())
        for path in (root / "sync_tracking_datasets").glob("*/*/*/metadata.json")
    }
    db = duckdb.connect()
    db.register("rows_read", pa.concat_tables(tables))
    db.execute("create table attempts as select * from rows_read")
    db.execute(_FINAL)
    return Lake(root, rows, runs, files, metadata, db)


def _run(path: Path) -> tuple[str, str, str]:
    org_id, sync_id, sync_run_id = path.parts[-4:-1]
    return org_id, sync_id, sync_run_id


_FINAL = """
create view final as
select *
from attempts
where identifier <> '' and status in ('succeeded', 'rejected')
qualify
    row_number() over (
        partition by sync, run, identifier order by started_at desc, file desc, row_no desc
    ) = 1
"""


def _normalised(file: RecordFile, table: pa.Table) -> pa.Table:
    count = table.num_rows
    ended = "batch_ended_at" if "batch_ended_at" in table.column_names else "batch_completed_at"
    columns = {name: as_text(name, table[name].combine_chunks()) for name in _TEXTS}
    return pa.table(
        {
            "org": pa.array([file.org_id] * count),
            "sync": pa.array([file.sync_id] * count),
            "run": pa.array([int(file.sync_run_id)] * count),
            "file": pa.array([file.path.name] * count),
            "row_no": pa.array(range(count)),
            **columns,
            "started_at": as_timestamp("batch_started_at", table["batch_started_at"].combine_chunks()),
            "ended_at": as_timestamp(ended, table[ended].combine_chunks()),
        }
    )


@pytest.fixture(
    scope="module", params=[(LEAST_ROWS, LEAST_RUNS, 0), (20_000, None, 7)], ids=["least", "usual"]
)
def lake(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    rows, runs, seed = request.param
    root = tmp_path_factory.mktemp("lake")
    written = write_sample_lake(root, rows=rows, seed=seed, runs=runs)
    found = read_back(root, rows, written.runs)
    yield found
    found.db.close()


def tree(root: Path) -> dict[str, tuple[str, int]]:
    """Return each file's hash and modification time."""
    return {
        str(path.relative_to(root)): (sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


# What the options promise.


@pytest.mark.parametrize(
    ("rows", "runs", "rows_per_file"),
    [(LEAST_ROWS, LEAST_RUNS, None), (3_001, 150, 7), (12_345, 63, 1_000_000), (7_777, None, None)],
)
def test_rows_and_runs_are_as_many_as_asked_for(
    tmp_path: Path, rows: int, runs: int | None, rows_per_file: int | None
) -> None:
    told: list[int] = []
    written = write_sample_lake(
        tmp_path, rows=rows, seed=3, runs=runs, rows_per_file=rows_per_file, progress=told.append
    )
    paths = list((tmp_path / "sync_tracking_datasets").glob("*/*/*/*.parquet"))
    per_file = [pq.read_metadata(path).num_rows for path in paths]
    assert sum(per_file) == sum(told) == written.rows == rows
    assert len(paths) == written.record_files
    folders = list((tmp_path / "sync_tracking_datasets").glob("*/*/*"))
    assert len(folders) == written.runs == (runs or default_runs(rows))
    assert sum(sync.runs for sync in written.syncs) == written.runs
    assert sum(sync.rows for sync in written.syncs) == rows
    if rows_per_file:
        assert max(per_file) <= rows_per_file


def test_the_same_arguments_write_the_same_bytes_at_the_same_times(tmp_path: Path) -> None:
    for name, seed in (("one", 5), ("two", 5), ("three", 6)):
        write_sample_lake(tmp_path / name, rows=2_500, seed=seed, runs=70)
    one, two, three = (tree(tmp_path / name) for name in ("one", "two", "three"))
    assert one == two
    records = [path for path in one if path.endswith(".parquet") and "sync_tracking_datasets" in path]
    same = [path for path in records if path in three and one[path][0] == three[path][0]]
    assert [path for path in same if "_temporary" not in path] == []


def test_modification_times_are_the_times_of_the_batches(lake: Lake) -> None:
    latest = {
        (sync, run, file): ended
        for sync, run, file, ended in lake.query(
            "select sync, run, file, max(ended_at) from attempts group by all"
        )
    }
    for file in lake.files:
        modified = dt.datetime.fromtimestamp(file.path.stat().st_mtime, dt.UTC)
        ended = latest[file.sync_id, int(file.sync_run_id), file.path.name]
        assert abs(modified - ended.astimezone(dt.UTC)) < dt.timedelta(milliseconds=2)
    newest = max(path.stat().st_mtime for path in lake.root.rglob("*") if path.is_file())
    assert dt.datetime.fromtimestamp(newest, dt.UTC) < dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


# Files.


def test_each_era_has_its_columns(lake: Lake) -> None:
    eras: Counter[str] = Counter()
    for file in lake.files:
        names = set(file.schema.names)
        modified = dt.datetime.fromtimestamp(file.path.stat().st_mtime, dt.UTC)
        era = "old" if modified < dt.datetime(2025, 11, 1, tzinfo=dt.UTC) else "bare"
        era = "new" if modified >= dt.datetime(2025, 11, 18, tzinfo=dt.UTC) else era
        eras[era] += 1
        assert ("census_sync_tracking_internal_id" in names) == (era == "old")
        assert ({"sync_configuration_id", "sync_run_id"} <= names) == (era == "new")
        assert ("batch_ended_at" in names) != ("batch_completed_at" in names)
    assert set(eras) == {"old", "bare", "new"}


def test_internal_ids_are_unique(lake: Lake) -> None:
    ids = [
        value
        for file in lake.files
        if "census_sync_tracking_internal_id" in file.schema.names
        for value in pq.read_table(file.path)["census_sync_tracking_internal_id"].to_pylist()
    ]
    assert len(ids) > 0
    assert len(ids) == len(set(ids))


def test_ids_in_rows_are_those_of_the_path_as_text_and_as_integers(lake: Lake) -> None:
    types = set()
    for file in lake.files:
        if "sync_run_id" not in file.schema.names:
            continue
        table = pq.read_table(file.path, columns=["sync_configuration_id", "sync_run_id"])
        types.add(str(table.schema.field("sync_run_id").type))
        assert {str(value) for value in table["sync_configuration_id"].to_pylist()} == {file.sync_id}
        assert {str(value) for value in table["sync_run_id"].to_pylist()} == {file.sync_run_id}
    assert types == {"int64", "string"}


def test_columns_stand_in_differing_order_and_both_names_of_the_end_occur(lake: Lake) -> None:
    orders = {tuple(file.schema.names) for file in lake.files}
    assert len(orders) > len({frozenset(order) for order in orders})
    assert any("batch_ended_at" in order for order in orders)
    assert any("batch_completed_at" in order for order in orders)


def test_unknown_columns_occur(lake: Lake) -> None:
    unknown = [set(file.schema.names) - _CONTRACT_COLUMNS for file in lake.files]
    assert {"api_request_id", "retry_count"} in unknown
    assert set() in unknown


def test_names_come_with_and_without_batch_number_and_runs_in_several_batches(lake: Lake) -> None:
    numbers = [re.fullmatch(r"(records_\w+?)(\.\d+)?\.parquet", file.path.name) for file in lake.files]
    assert all(numbers)
    assert {match[1] for match in numbers if match} == {"records_updated", "records_deleted"}
    assert {match[2] is None for match in numbers if match} == {True, False}
    assert {match[2] for match in numbers if match} >= {".0", ".1"}


def test_timestamps_occur_in_every_encoding(lake: Lake) -> None:
    found = {
        "INT96" if file.physical_types["batch_started_at"] == "INT96" else str(field.type)
        for file in lake.files
        for field in [file.schema.field("batch_started_at")]
    }
    assert {
        "INT96",
        "string",
        "timestamp[us]",
        "timestamp[ms]",
        "timestamp[us, tz=UTC]",
        "timestamp[ms, tz=UTC]",
        "timestamp[ns, tz=UTC]",
    } <= found
    texts = [
        value
        for file in lake.files
        if file.schema.field("batch_started_at").type == pa.string()
        for value in pq.read_table(file.path)["batch_started_at"].to_pylist()
        if value
    ]
    assert {"T" in text for text in texts} == {True, False}


def test_identifiers_are_integers_in_some_files_of_a_sync_and_text_in_others(lake: Lake) -> None:
    types = defaultdict(set)
    for file in lake.files:
        types[file.sync_id].add(str(file.schema.field("identifier").type))
    assert {"int64", "string"} in types.values()


def test_orgs_and_workspaces_are_several(lake: Lake) -> None:
    assert len({file.org_id for file in lake.files}) == 3
    assert len({row["workspace_id"] for row in lake.metadata.values()}) >= 5


def test_files_that_are_no_data_lie_about(lake: Lake) -> None:
    names = {path.name for path in (lake.root / "sync_tracking_datasets").rglob("*")}
    assert {"_SUCCESS", ".records_updated.0.parquet.crc", "_temporary"} <= names
    assert {path.name for path in (lake.root / "sync-unloads").rglob("*.*")} == {
        "unload-0001.csv",
        "part-0.parquet",
    }


# Runs and their metadata.


def test_metadata_says_what_the_path_says_in_several_spellings(lake: Lake) -> None:
    for (org_id, sync_id, sync_run_id), row in lake.metadata.items():
        assert (row["organization_id"], row["sync_configuration_id"], row["sync_run_id"]) == (
            org_id,
            sync_id,
            sync_run_id,
        )
        assert all(value is not None for value in row.values())
        schema = json.loads(row["record_payload_schema"])
        assert set(schema.values()) <= {"string", "number", "boolean", "array", "object"}
    keys = {frozenset(json.loads(row["metadata"])) for row in lake.metadata.values()}
    assert len(keys) == 3
    assert any("organization" in names for names in keys)
    assert any("organizationId" in names for names in keys)
    assert any("org_id" in names for names in keys)


def test_runs_start_when_their_metadata_says(lake: Lake) -> None:
    first = {
        (sync, str(run)): started
        for sync, run, started in lake.query(
            "select sync, run, min(started_at) from attempts where started_at is not null group by all"
        )
    }
    checked = 0
    for (_, sync_id, sync_run_id), row in lake.metadata.items():
        if (sync_id, sync_run_id) in first:
            delay = first[sync_id, sync_run_id] - row["sync_run_started_at"]
            assert dt.timedelta(0) < delay < dt.timedelta(minutes=1)
            checked += 1
    assert checked > 10


def test_some_runs_have_no_metadata_and_some_no_rows(lake: Lake) -> None:
    contents = [{path.suffix for path in folder.glob("[!_.]*")} for folder in lake.folders()]
    assert {".parquet"} in contents
    assert {".json"} in contents
    assert {".parquet", ".json"} in contents
    without = [file for file in lake.files if file.run not in lake.metadata]
    since = dt.datetime(2025, 11, 4, tzinfo=dt.UTC).timestamp()
    assert all(file.path.stat().st_mtime < since for file in without)


def test_a_run_has_no_batch_start_with_and_without_metadata(lake: Lake) -> None:
    untimed = lake.query("select org, sync, run from attempts group by all having count(started_at) = 0")
    known = {(org, sync, str(run)) in lake.metadata for org, sync, run in untimed}
    assert known == {True, False}


def test_run_ids_grow_with_time_but_not_as_text(lake: Lake) -> None:
    runs = lake.query(
        "select run from attempts where started_at is not null group by run order by min(started_at)"
    )
    ids = [run for (run,) in runs]
    assert ids == sorted(ids)
    assert {len(str(run)) for run in ids} == {5, 6}


def test_each_sync_runs_regularly_and_one_stopped_long_ago(lake: Lake) -> None:
    starts = defaultdict(list)
    for (_, sync_id, _), row in lake.metadata.items():
        starts[sync_id].append(row["sync_run_started_at"])
    end = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    for sync_id, moments in starts.items():
        ordered = sorted(moments)
        steps = [after - before for before, after in pairwise(ordered)]
        assert max(steps) - min(steps) < dt.timedelta(minutes=2), sync_id
        quiet = end - ordered[-1]
        assert (quiet > 30 * min(steps)) == (sync_id == _STALE), sync_id
        assert quiet < dt.timedelta(days=1) or sync_id == _STALE


def test_one_sync_has_runs_of_more_than_an_hour(lake: Lake) -> None:
    long = lake.query(
        "select distinct sync from attempts where started_at is not null group by sync, run"
        " having max(ended_at) - min(started_at) > interval 1 hour"
    )
    assert long == [(_SLOW,)]


def test_some_runs_fail_as_a_whole_and_one_sync_ends_with_them(lake: Lake) -> None:
    failed = lake.query(
        "select sync, run from attempts group by all"
        " having count_if(status = 'succeeded') = 0 and count_if(status = 'rejected') > 0"
    )
    syncs = Counter(sync for sync, _ in failed)
    assert set(syncs) == {_CREATING, _SHEET, _STALE}
    last_two = lake.query(
        f"select distinct run from attempts where sync = '{_STALE}' order by run desc limit 2"
    )
    assert {(_STALE, run) for (run,) in last_two} <= set(failed)


# Fact tables.


def test_facts_know_every_object_of_the_metadata_with_its_type(lake: Lake) -> None:
    facts = {org_id: _facts(lake.root / "metadata" / org_id) for org_id in ("10482", "2391", "88")}
    assert {len(list((lake.root / "metadata" / org_id).rglob("*.parquet"))) for org_id in facts} == {3, 6}
    for (org_id, _, _), row in lake.metadata.items():
        types = facts[org_id]
        assert types["source_objects"][row["source_object_id"]] == row["source_type"]
        assert types["destinations"][row["destination_id"]] == row["destination_type"]
        assert "::ObjectTypes::" in types["destination_objects"][row["destination_object_id"]]
    kinds = {row["source_type"].removeprefix("DataWarehouse::") for row in lake.metadata.values()}
    assert kinds == {"FilterSegmentSource", "CohortSource", "Query", "BusinessObjectSource", "Table"}


def _facts(folder: Path) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for path in folder.rglob("*.parquet"):
        table = pq.read_table(path, partitioning=None)
        rows = table.to_pylist()
        if {"model_id", "filter_segment_id"} <= set(table.column_names):
            kind = "source_objects"
        elif "::ObjectTypes::" in rows[0]["type"]:
            kind = "destination_objects"
        else:
            assert rows[0]["type"].endswith("::Connection")
            kind = "destinations"
        found[kind] |= {str(row["id"]): row["type"] for row in rows}
    return found


def test_facts_are_laid_out_as_folders_as_files_and_under_other_names(lake: Lake) -> None:
    names = {
        path.relative_to(lake.root / "metadata").as_posix()
        for path in lake.root.rglob("metadata/**/*.parquet")
    }
    assert "10482/source_objects/part-00001.parquet" in names
    assert "88/destination_objects.parquet" in names
    unconventional = [name for name in names if name.startswith("2391/")]
    assert len(unconventional) == 3
    assert not any(re.search("source_objects|destination", name) for name in unconventional)


# Attempts.


def test_a_record_is_rejected_and_succeeds_in_the_same_run(lake: Lake) -> None:
    retried = lake.query(
        """
        select r.sync
        from attempts r join attempts s using (sync, run, identifier)
        where r.status = 'rejected' and s.status = 'succeeded' and s.started_at > r.started_at
        """
    )
    assert len({sync for (sync,) in retried}) >= 5


def test_records_are_rejected_in_each_run_until_they_are_fixed_and_some_never_are(lake: Lake) -> None:
    fixed, never = 0, 0
    for sync_id in _syncs(lake):
        ends = list(_final_statuses(lake, sync_id))
        series: Counter[str] = Counter()
        for statuses in ends:
            for identifier, status in statuses.items():
                if status == "rejected":
                    series[identifier] += 1
                else:
                    fixed += series.pop(identifier, 0) >= 2
        never += sum(1 for length in series.values() if length >= 3)
    at_least = 3 if lake.rows >= 20_000 else 1
    assert fixed >= at_least
    assert never >= at_least


def test_whoever_failed_is_tried_again_in_the_next_run(lake: Lake) -> None:
    for sync_id in _syncs(lake):
        failing: set[str] = set()
        for statuses in _final_statuses(lake, sync_id):
            # A run takes on at most as many as its rows allow.
            assert failing <= statuses.keys() or len(statuses) < len(failing) + 3 or sync_id == _SHEET
            failing = {key for key, status in statuses.items() if status == "rejected"} | (
                failing - statuses.keys()
            )


def _syncs(lake: Lake) -> list[str]:
    return [sync for (sync,) in lake.query("select distinct sync from attempts order by 1")]


def _final_statuses(lake: Lake, sync_id: str) -> Iterator[dict[str, str]]:
    """Yield each run's final status per record, in the order of runs."""
    runs: dict[int, dict[str, str]] = defaultdict(dict)
    for run, identifier, status in lake.query(
        f"select run, identifier, status from final where sync = '{sync_id}' order by run"
    ):
        runs[run][identifier] = status
    yield from runs.values()


def test_people_enter_leave_and_come_back(lake: Lake) -> None:
    back = set()
    for sync_id in _SEGMENTS:
        course: defaultdict[str, str] = defaultdict(str)
        for identifier, operation in lake.query(
            f"select identifier, operation from final where sync = '{sync_id}' and status = 'succeeded'"
            " order by run"
        ):
            course[identifier] += "-" if operation == "delete" else "+"
        if any(re.search(r"\+-\+", steps) for steps in course.values()):
            back.add(sync_id)
    assert back == set(_SEGMENTS)


def test_only_members_are_deleted_and_only_strangers_created(lake: Lake) -> None:
    deletes = creates = updates = 0
    for sync_id in _syncs(lake):
        members: set[str] = set()
        for identifier, operation, status in lake.query(
            "select identifier, trim(lower(operation)), status from final"
            f" where sync = '{sync_id}' order by run"
        ):
            if operation == "delete":
                assert identifier in members
                deletes += 1
            if operation == "create":
                assert identifier not in members
                creates += 1
            if operation == "update" and sync_id == _CREATING:
                assert identifier in members
                updates += 1
            if status == "succeeded":
                (members.discard if operation == "delete" else members.add)(identifier)
    assert min(deletes, creates, updates) > 10


def test_segments_keep_their_size_and_log_changes_only(lake: Lake) -> None:
    if lake.rows < 20_000:
        pytest.skip("a run of so few rows is half of a segment")
    for sync_id in _SEGMENTS:
        runs = lake.query(
            "select run, count_if(operation = 'delete'), count(*) from final"
            f" where sync = '{sync_id}' group by run order by run"
        )
        assert runs[0][1] == 0
        assert all(0 < deletes < attempts / 4 for _, deletes, attempts in runs[1:])
        assert all(attempts < runs[0][2] / 2 for _, _, attempts in runs[1:])


def test_the_sheet_is_written_anew_in_each_run_and_people_vanish_from_it(lake: Lake) -> None:
    words = lake.query(f"select distinct trim(lower(operation)) from attempts where sync = '{_SHEET}'")
    assert {word for (word,) in words} == {"mirror"}
    runs = [set(statuses) for statuses in _final_statuses(lake, _SHEET)]
    gone = [before - after for before, after in pairwise(runs)]
    assert all(gone)
    kept = [len(before & after) / len(before) for before, after in pairwise(runs)]
    assert min(kept) > (0.9 if lake.rows >= 20_000 else 0.6)
    assert any(vanished & later for vanished, later in zip(gone, runs[2:], strict=False))


def test_an_event_is_appended_once(lake: Lake) -> None:
    assert lake.query(f"select distinct operation from attempts where sync = '{_EVENTS}'") == [("append",)]
    twice = lake.query(
        f"select identifier from attempts where sync = '{_EVENTS}' and status = 'succeeded'"
        " group by identifier having count(*) > 1"
    )
    assert twice == []


def test_one_run_repeats_every_member(lake: Lake) -> None:
    members: set[str] = set()
    repeated = []
    for statuses in _final_statuses(lake, _CREATING):
        if len(members) >= 10:
            repeated.append(len(members & statuses.keys()) / len(members))
        members |= {key for key, status in statuses.items() if status == "succeeded"}
    assert max(repeated) >= 0.99
    assert sorted(repeated)[len(repeated) // 2] < 0.9


@pytest.mark.parametrize("word", ["DUPLICATE", "duplicate", "Duplicate", "NULL", "null"])
def test_invalid_rows_are_spelled_in_any_case(lake: Lake, word: str) -> None:
    assert lake.count(f"status = '{word}'") > 0


def test_invalid_rows_also_have_no_status_at_all(lake: Lake) -> None:
    assert lake.count("status is null") > 0
    assert lake.count("status is null and identifier is not null and identifier <> ''") == 0


def test_rows_without_identifier_are_null_rows_with_null_or_blank(lake: Lake) -> None:
    assert lake.count("identifier is null") > 0
    assert lake.count("identifier = ''") > 0
    assert lake.count("coalesce(identifier, '') = '' and upper(status) <> 'NULL'") == 0
    assert lake.count("upper(status) = 'NULL' and identifier <> ''") == 0


def test_a_duplicate_stands_beside_its_succeeded_sibling(lake: Lake) -> None:
    alone, beside = lake.query(
        """
        select count_if(not attempted), count_if(succeeded)
        from (
            select
                exists(
                    select 1 from final f
                    where f.sync = d.sync and f.run = d.run and f.identifier = d.identifier
                ) as attempted,
                exists(
                    select 1 from final f
                    where f.sync = d.sync and f.run = d.run and f.identifier = d.identifier
                        and f.status = 'succeeded'
                ) as succeeded
            from attempts d where upper(status) = 'DUPLICATE'
        )
        """
    )[0]
    assert alone <= 3  # beside a record with an unknown status
    assert beside > 5


def test_unknown_words_occur_in_status_and_operation(lake: Lake) -> None:
    assert 0 < lake.count("status = 'queued'") < 20
    assert 0 < lake.count("operation = 'merge'") < 20
    assert 0 < lake.count("operation = ' Upsert'") < 20


def test_identifiers_keep_blanks_and_case(lake: Lake) -> None:
    assert lake.count("identifier like 'acc-%'") > 0
    assert lake.count("identifier like 'ACC %'") > 0


def test_refusals_speak_of_the_record_in_every_destinations_words(lake: Lake) -> None:
    rejected = lake.query(
        "select sync, identifier, record_payload, status_message from attempts where status = 'rejected'"
    )
    assert all(message for *_, message in rejected)
    assert {sync for sync, *_ in rejected} == set(_syncs(lake))
    assert lake.count("status_message is not null and status <> 'rejected'") == 0
    naming = [sync for sync, identifier, _, message in rejected if identifier and identifier in message]
    assert len(set(naming)) >= 3
    wordings = {re.sub(r"[0-9]+|\b\S+@\S+\b", "…", message) for *_, message in rejected}
    assert len(wordings) > 20


def test_most_attempts_succeed(lake: Lake) -> None:
    rates = dict(
        lake.query(
            "select sync, count_if(status = 'succeeded') / count(*) from attempts"
            " where status in ('succeeded', 'rejected')"
            " and (sync, run) not in (select (sync, run) from attempts group by sync, run"
            "  having count_if(status = 'succeeded') = 0)"
            " group by sync"
        )
    )
    low, high = (0.93, 0.98) if lake.rows >= 20_000 else (0.80, 0.98)
    assert all(low < rate < high for rate in rates.values()), rates
    invalid = lake.count("status is null or upper(status) in ('NULL', 'DUPLICATE')") / lake.rows
    assert 0.003 < invalid < 0.05


# Payloads.


def _pairs(lake: Lake) -> Iterator[tuple[str, str]]:
    """Yield payloads of a record that follow each other, where both are JSON objects."""
    previous: dict[tuple[str, str], str] = {}
    for sync, identifier, payload in lake.query(
        "select sync, identifier, record_payload from final"
        " where operation not in ('delete', 'append') order by run"
    ):
        if payload and payload.startswith("{") and payload.endswith("}"):
            before = previous.get((sync, identifier))
            if before is not None:
                yield before, payload
            previous[sync, identifier] = payload


def _differing(field: str) -> Callable[[dict[str, Any], dict[str, Any]], bool]:
    return lambda before, after: field in before and field in after and before[field] != after[field]


CHANGES: dict[str, Callable[[dict[str, Any], dict[str, Any]], bool]] = {
    "plan": _differing("plan"),
    "address": _differing("address"),
    "billing_city": _differing("billing_city"),
    "lifetime_orders": _differing("lifetime_orders"),
    "absent against null": lambda before, after: ("phone" in before) != ("phone" in after),
    "other order of keys": lambda before, after: list(before) != list(after) and set(before) == set(after),
    "1 against 1.0": lambda before, after: (
        before.get("seats") == after.get("seats")
        and type(before.get("seats")) is not type(after.get("seats"))
    ),
    "only noise": lambda before, after: (
        {key for key in before.keys() & after.keys() if before[key] != after[key]}
        == {"last_seen_at", "updated_at", "row_number"}
    ),
    "case and blanks": lambda before, after: (
        before.get("industry", "") != after.get("industry", "")
        and before["industry"].strip().lower() == after["industry"].strip().lower()
    ),
    "binary noise": lambda before, after: (
        before.get("health_score", 0) != after.get("health_score", 0)
        and abs(before["health_score"] / after["health_score"] - 1) < 1e-6
    ),
    "a tick within one day": lambda before, after: (
        before.get("last_seen_at", "") != after.get("last_seen_at", "")
        and before["last_seen_at"][:10] == after["last_seen_at"][:10]
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_payloads_of_a_record_differ_from_run_to_run(lake: Lake, change: str) -> None:
    assert any(CHANGES[change](json.loads(before), json.loads(after)) for before, after in _pairs(lake))


def test_row_numbers_tick_on_each_run(lake: Lake) -> None:
    pairs = [(json.loads(before), json.loads(after)) for before, after in _pairs(lake)]
    ticked = [
        before["updated_at"] != after["updated_at"] for before, after in pairs if "updated_at" in before
    ]
    assert all(ticked)
    moved = [before["row_number"] != after["row_number"] for before, after in pairs if "row_number" in before]
    assert sum(moved) > len(moved) / 2


def test_few_payloads_are_no_object(lake: Lake) -> None:
    kinds: Counter[str] = Counter()
    for (payload,) in lake.query("select record_payload from attempts where operation <> 'delete'"):
        if payload is None:
            kinds["absent"] += 1
            continue
        try:
            kinds[type(json.loads(payload)).__name__] += 1
        except ValueError:
            kinds["broken"] += 1
    assert set(kinds) == {"dict", "list", "int", "broken", "absent"}
    assert kinds["dict"] > 0.98 * kinds.total()


def test_payloads_have_nested_values_and_unicode_plain_and_escaped(lake: Lake) -> None:
    assert lake.count("""record_payload like '%"address":{"city":%'""") > 0
    assert lake.count("""record_payload like '%"teams":[{"id":%'""") > 0
    assert lake.count("record_payload like '%渡辺%'") > 0
    assert lake.count(r"record_payload like '%\u6e21\u8fba%'") > 0
    assert lake.count("record_payload like '%🎉%'") > 0


def test_payloads_hold_the_identifier_and_what_the_metadata_says(lake: Lake) -> None:
    schemas = {key[1]: json.loads(row["record_payload_schema"]) for key, row in lake.metadata.items()}
    for sync, identifier, payload in lake.query(
        "select sync, identifier, record_payload from attempts"
        " where identifier <> '' and operation <> 'delete'"
    ):
        try:
            fields = json.loads(payload or "")
        except ValueError:
            continue
        if isinstance(fields, dict):
            assert identifier in {str(value) for value in fields.values()}
            assert fields.keys() <= schemas[sync].keys()


def test_deletes_carry_the_key_alone_or_nothing(lake: Lake) -> None:
    payloads = lake.query("select distinct sync, record_payload from attempts where operation = 'delete'")
    assert any(payload is None for _, payload in payloads)
    assert all(len(json.loads(payload)) == 1 for _, payload in payloads if payload is not None)
    assert any(payload is not None for _, payload in payloads)


# Wrong use.


def test_a_folder_that_is_not_empty_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "kept.txt").write_text("mine")
    (tmp_path / "metadata").mkdir()
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="not empty"):
            write_sample_lake(tmp_path, rows=LEAST_ROWS, seed=0, overwrite=overwrite)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.txt", "metadata"]


def test_overwrite_replaces_a_sample_lake_and_nothing_else(tmp_path: Path) -> None:
    fresh, again = tmp_path / "fresh", tmp_path / "again"
    write_sample_lake(fresh, rows=2_100, seed=2)
    write_sample_lake(again, rows=LEAST_ROWS, seed=1, runs=90)
    (again / "kept.txt").write_text("mine")
    with pytest.raises(UsageError, match="--overwrite"):
        write_sample_lake(again, rows=2_100, seed=2)
    write_sample_lake(again, rows=2_100, seed=2, overwrite=True)
    replaced = tree(again)
    del replaced["kept.txt"]
    assert replaced == tree(fresh)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"rows": LEAST_ROWS - 1}, "--rows"),
        ({"rows": LEAST_ROWS, "runs": LEAST_RUNS - 1}, "--runs"),
        ({"rows": LEAST_ROWS, "runs": 1_000}, "20000 rows"),
        ({"rows": LEAST_ROWS, "rows_per_file": 0}, "--rows-per-file"),
        ({"rows": LEAST_ROWS, "seed": -1}, "--seed"),
    ],
)
def test_arguments_that_no_lake_fits_are_refused(
    tmp_path: Path, arguments: dict[str, int], advice: str
) -> None:
    with pytest.raises(UsageError, match=advice):
        write_sample_lake(tmp_path / "lake", **{"seed": 0, **arguments})  # type: ignore[arg-type]
    assert not (tmp_path / "lake").exists()


@pytest.fixture
def command() -> Callable[..., Any]:
    app = typer.Typer()
    app.command()(sample_lake)
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_the_command_tells_what_it_wrote_and_what_comes_next(
    tmp_path: Path, command: Callable[..., Any]
) -> None:
    folder = tmp_path / "a lake"
    result = command(folder, "--rows", 2_000, "--runs", 70, "--rows-per-file", 500, "--seed", 4)
    assert result.exit_code == 0, result.output
    assert "2,000 rows of 70 runs" in result.stdout
    assert f"synctrail load '{folder}'" in result.stdout
    assert "Lapsed customers" in result.stdout


@pytest.mark.parametrize(
    ("make", "advice"),
    [
        (lambda folder: folder / "full", "not empty"),
        (lambda folder: folder / "full" / "file.txt", "not a folder"),
        (lambda _: "s3a://bucket/lake", "local"),
    ],
)
def test_the_command_refuses_with_exit_code_2(
    tmp_path: Path, command: Callable[..., Any], make: Callable[[Path], Path | str], advice: str
) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file.txt").write_text("mine")
    result = command(make(tmp_path))
    assert result.exit_code == 2
    assert advice in " ".join(result.stderr.replace("│", " ").split())
    assert "Traceback" not in result.output
