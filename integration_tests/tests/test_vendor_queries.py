"""The vendors' example query that is asked of the files of a lake, as it stands in their documentation."""

from __future__ import annotations

import shutil
from collections import Counter
from pathlib import Path

import duckdb
import pytest
from analysis_answers import compiled
from dbt_project_runner import Project
from warehouses import Warehouse

from synctrail.sample_lake import write_sample_lake


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
