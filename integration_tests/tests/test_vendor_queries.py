"""The vendors' example queries, as they stand in their documentation, on the models."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from analysis_answers import answer, compiled
from dbt_project_runner import Project
from staging_rows import Attempt, Lake, Run, at
from warehouses import Warehouse

from synctrail.sample_lake import write_sample_lake

SEGMENT: dict[str, object] = {
    "id": "30",
    "type": "DataWarehouse::FilterSegmentSource",
    "name": "Big spenders",
    "org_id": "1",
}


def two_runs_of_a_segment() -> Lake:
    """Return a sync whose first run adds two users and fails on a third, and whose second removes one."""
    lake = Lake(facts={"source_objects": [SEGMENT]})
    runs = [
        Run(sync_id="1234", sync_run_id=run_id, sync_run_started_at=at(minute))
        for run_id, minute in (("5677", 0), ("5678", 60))
    ]
    lake.load(
        "load",
        [
            attempt("5677", "ana"),
            attempt("5677", "bob"),
            attempt("5677", "eve", status="rejected", status_message="INVALID_EMAIL"),
            attempt("5678", "bob", operation="delete"),
            attempt("5678", "eve", status="rejected", status_message="INVALID_EMAIL"),
        ],
        runs,
    )
    return lake


def attempt(run_id: str, user: str, **given: Any) -> Attempt:
    minute = {"5677": 0, "5678": 60}[run_id]
    return Attempt(
        log_id=f"{run_id}-{user}",
        sync_id="1234",
        sync_run_id=run_id,
        record_identifier=user,
        batch_started_at=at(minute + 1),
        **given,
    )


@pytest.mark.every_warehouse
def test_queries_on_the_models(project: Project, warehouse: Warehouse) -> None:
    if warehouse.target in ("bigquery", "postgres", "redshift"):
        pytest.skip(f"the queries compare ids, which are text, with numbers; {warehouse.target} does not")
    warehouse.write_staging(two_runs_of_a_segment().tables())
    project.run(
        "run", "--select", "+sync_log", "+sync_changelog", "+sync_snapshot", "+sync_runs", "+source_objects"
    )

    def ask(name: str, *columns: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row[column] for column in columns) for row in answer(project, warehouse, name))

    assert ask("census_rows_of_a_sync", "sync_run_id", "record_identifier", "name") == [
        ("5677", "ana", "Big spenders"),
        ("5677", "bob", "Big spenders"),
        ("5677", "eve", "Big spenders"),
        ("5678", "bob", "Big spenders"),
        ("5678", "eve", "Big spenders"),
    ]
    assert ask("census_deleted_in_a_run", "record_identifier", "operation", "name") == [
        ("bob", "delete", "Big spenders")
    ]
    assert ask("hightouch_most_common_error", "failure_reason", "c") == [("INVALID_EMAIL", 1)]
    assert ask("hightouch_first_inserted", "row_id", "first_inserted_at") == [("ana", at(0)), ("bob", at(0))]
    # It joins runs by their sync alone, as it stands in the documentation: the times are those of any run.
    events = set(ask("hightouch_entered_and_exited", "user_id", "audience", "type"))
    assert {("ana", "Big spenders", "added"), ("bob", "Big spenders", "removed")} <= events


def test_the_query_on_the_files_of_a_lake(project: Project, warehouse: Warehouse, tmp_path: Path) -> None:
    if warehouse.target != "duckdb":
        pytest.skip("read_parquet is DuckDB's")
    write_sample_lake(tmp_path, rows=2_000, seed=1, runs=62)
    files = tmp_path / "sync_tracking_datasets"
    records = duckdb.execute(
        f"select filename, status_message from read_parquet('{files}/*/*/*/*.parquet', union_by_name = true) "
        "where status = 'rejected'"
    ).fetchall()
    folder = Path(records[0][0]).parent
    shutil.copytree(folder, files / "1" / "2" / "3")
    query = compiled(project, "census_lake_rejected_records", {"synctrail_lake": str(tmp_path)})
    answered = {message: len(identifiers) for message, identifiers in duckdb.execute(query).fetchall()}
    assert answered == Counter(message for file, message in records if Path(file).parent == folder)
