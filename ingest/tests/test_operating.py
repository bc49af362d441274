"""What an operator does between loads: structured logs, lag, retry, prune, forget."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any

import duckdb
import pytest
from commands import SMALL, history, load, synctrail
from conftest import Loader
from lakes import Lake, parquet_bytes, record_columns

from synctrail.lag import lag_by_sync
from synctrail.lake import list_lake
from synctrail.plan import make_plan, retry_plan
from synctrail.prune import Pruning, prune
from synctrail.selection import Selection
from synctrail.status import read_status

RUN = "1/22/333"
PREFIX = "sync_tracking_datasets"
DAY = 86_400.0


def days_ago(days: float) -> dt.datetime:
    return dt.datetime.now(dt.UTC) - dt.timedelta(days=days)


def write(lake: Lake, path: str, identifiers: list[str], *, days: float) -> str:
    content = parquet_bytes(record_columns(identifiers))
    return lake.write(f"{PREFIX}/{path}", content, age_seconds=days * DAY)


def identifiers(loader: Loader) -> list[str]:
    return sorted(row["record_identifier"] for row in loader.rows("sync_tracking_records"))


def test_pruned_runs_do_not_come_back(loader, lake):
    """Runs are pruned whole, by their newest file; one that changes afterwards is loaded again."""
    old = write(lake, "1/22/1/a.0.parquet", ["old"], days=9)
    write(lake, "1/22/2/a.0.parquet", ["begun before"], days=9)
    write(lake, "1/22/2/b.0.parquet", ["ended after"], days=1)
    write(lake, "1/23/1/a.0.parquet", ["other a", "other b"], days=9)
    write(lake, "1/23/1/b.0.parquet", ["other c"], days=8)
    lake.metadata("1/22/1", {"source_type": "Query"})
    loader.load(lake)
    before = loader.rows("load_files")
    expected = [
        {"org_id": "1", "sync_id": "22", "runs": 1, "files": 1, "rows": 1},
        {"org_id": "1", "sync_id": "23", "runs": 1, "files": 2, "rows": 3},
    ]
    assert prune(loader.warehouse, days_ago(5)) == Pruning(expected, is_done=False)
    assert prune(loader.warehouse, days_ago(10), is_meant=True) == Pruning([], is_done=True)
    assert loader.rows("load_files") == before

    only = Selection(syncs=frozenset({"23"}))
    assert prune(loader.warehouse, days_ago(5), selection=only, is_meant=True).syncs == expected[1:]
    assert identifiers(loader) == ["begun before", "ended after", "old"]
    assert prune(loader.warehouse, days_ago(5), is_meant=True).syncs == expected[:1]
    assert identifiers(loader) == ["begun before", "ended after"]
    ledger = {row["path"]: (row["status"], row["row_count"]) for row in loader.rows("load_files")}
    assert (len(ledger), ledger[old]) == (6, ("pruned", 1))
    described = [row["sync_run_id"] for row in loader.rows("sync_tracking_runs") if row["source_type"]]
    assert described == ["1"]
    assert loader.warehouse.needs_spark or len(loader.rows("sync_tracking_runs")) == 3

    nothing = loader.load(lake)
    assert (nothing.history["files_loaded"], nothing.is_complete) == (0, True)
    assert prune(loader.warehouse, days_ago(5), is_meant=True).syncs == []
    write(lake, "1/22/1/a.0.parquet", ["old, again"], days=0)
    loader.load(lake)
    assert identifiers(loader) == ["begun before", "ended after", "old, again"]
    if loader.warehouse.needs_spark:
        schema = loader.warehouse.name.rsplit(" ", 1)[1]
        stored = loader.spark.table(f"{schema}.synctrail_records").where("_outcome is null")
        assert stored.count() == 3


def test_quarantined_files_are_tried_again_and_no_others(duckdb_loader, lake):
    bad = lake.records(RUN, "a.0.parquet", record_columns(["a"]))
    worse = lake.write(f"{PREFIX}/{RUN}/b.0.parquet", b"PAR1")
    gone = lake.write(f"{PREFIX}/{RUN}/c.0.parquet", b"PAR1")
    quarantined_by_hand(duckdb_loader, lake, bad)
    lake.remove(gone)
    lake.records(RUN, "new.0.parquet", record_columns(["new"]))
    result = duckdb_loader.load(lake, planner=retry_plan)
    assert [result.history[name] for name in ("files_seen", "files_loaded", "files_quarantined")] == [2, 1, 1]
    assert identifiers(duckdb_loader) == ["a"]
    assert {row["path"] for row in read_status(duckdb_loader.warehouse).quarantined} == {worse, gone}
    duckdb_loader.load(lake)
    assert identifiers(duckdb_loader) == ["a", "new"]


def quarantined_by_hand(loader: Loader, lake: Lake, path: str) -> None:
    """Load a lake, then make of one of its files what a loader that cannot read it would have made."""
    loader.load(lake)
    with duckdb.connect(loader.warehouse._database) as connection:
        connection.execute("delete from census_lake.sync_tracking_records")
        connection.execute(
            "update census_lake.load_files set status = 'quarantined', reason = 'unreadable' where path = ?",
            [path],
        )


def test_the_lag_of_each_sync(duckdb_loader, lake):
    write(lake, "1/22/1/a.0.parquet", ["a"], days=3)
    write(lake, "1/23/1/a.0.parquet", ["b"], days=3)
    lake.facts("1/destinations.parquet", {"id": [1], "type": ["x"], "name": ["x"]})
    duckdb_loader.load(lake)
    late = write(lake, "1/22/2/a.0.parquet", ["c"], days=1)
    write(lake, "1/24/1/a.0.parquet", ["d"], days=1)
    write(lake, "1/24/1/_hidden.parquet", ["d"], days=0)
    files = list_lake(duckdb_loader.spark, str(lake.root)).files
    warehouse = duckdb_loader.warehouse
    lags = lag_by_sync(files, warehouse.files(), make_plan(files, warehouse.ledger()))
    size = (lake.root / late).stat().st_size
    assert [
        tuple(row[name] for name in ("sync_id", "lag_seconds", "files_waiting", "bytes_waiting"))
        for row in lags
    ] == [("22", pytest.approx(2 * DAY, abs=60), 1, size), ("23", 0, 0, 0), ("24", None, 1, size)]
    assert lags[2]["newest_loaded_at"] is None
    assert lags[0]["newest_in_lake_at"] - lags[0]["newest_loaded_at"] > dt.timedelta(days=1.9)


def events(stderr: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stderr.splitlines()]


def test_the_commands_of_an_operator(project, lake):
    """Load with structured logs, then see the lag, forget, prune, retry and fail: as users do."""
    write(lake, "1/22/1/a.0.parquet", ["ann", "bob"], days=9)
    bad = lake.write(f"{PREFIX}/1/22/1/b.0.parquet", b"PAR1", age_seconds=9 * DAY)
    logs = {"SYNCTRAIL_LOG_FORMAT": "json"}
    first = load(project, lake.root, "--payload", "hash", SYNCTRAIL_SECRET="x" * 16, **logs)
    assert first.returncode == 3, first.stderr
    told = events(first.stderr)
    assert [line["event"] for line in told] == [
        "listing",
        "reading",
        "committing",
        "quarantined",
        "reasons",
        "summary",
    ]
    assert all(line["timestamp"].endswith("Z") and line["message"] for line in told)
    assert (told[1]["files"], told[3]["level"], told[3]["path"]) == (2, "warning", bad)
    summary = {name: told[-1][name] for name in history(first)}
    assert summary == history(first)
    assert told[-1]["seconds"] > 0

    status = synctrail(project, "status", "--json", "--lake", str(lake.root), "--sync", "22", *SMALL)
    (lag,) = json.loads(status.stdout)["lag"]
    assert (lag["sync_id"], lag["files_waiting"]) == ("22", 0)

    erased = synctrail(project, "forget", "--from", str(people(project)), "--sync", "22")
    assert json.loads(erased.stdout) == {"identifiers": 2, "rows_erased": 1}
    assert "bob" not in erased.stderr

    planned = synctrail(project, "prune", "--before", "2100-01-01")
    assert "would delete 2 rows of 1 files of 1 runs; give --yes to do it" in planned.stderr
    assert json.loads(planned.stdout) == {"runs": 1, "files": 1, "rows": 2, "is_done": False}
    done = synctrail(project, "prune", "--before", "2100-01-01", "--yes", "--log-format", "json")
    assert [line["event"] for line in events(done.stderr)] == ["pruned"]

    lake.records("1/22/2", "new.0.parquet", record_columns(["new"]))
    again = synctrail(project, "retry", str(lake.root), *SMALL)
    assert (again.returncode, history(again)["files_seen"]) == (3, 1)

    refused = load(project, lake.root, "--redact", "email", **logs)
    (line,) = events(refused.stderr)
    assert (refused.returncode, line["event"], line["exit_code"]) == (2, "failed", 2)
    assert "set the environment variable SYNCTRAIL_SECRET" in line["message"]


def people(folder: Any) -> Any:
    file = folder / "people.txt"
    file.write_text("bob\r\nnobody\n")
    return file


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["forget"], "no identifier, or an empty one, was given"),
        (["forget", ""], "no identifier, or an empty one, was given"),
        (["status", "--org", "1"], "give --lake LAKE as well"),
        (["load", ".", "--privacy", "nowhere.yml"], "cannot read nowhere.yml"),
    ],
)
def test_wrong_usage_is_one_line(project, arguments, told):
    result = synctrail(project, *arguments)
    (line,) = result.stderr.splitlines()
    assert (result.returncode, result.stdout) == (2, "")
    assert told in line
