"""Census Warehouse Writeback as a source: its tables as Census writes and prunes them."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from comparison import assert_models_hold
from dbt_project_runner import Project
from random_histories import random_deliveries
from reference_core import core
from staging_rows import Attempt, Lake
from vendor_examples.census_writeback import FIRST_RUN, SECOND_RUN, expected_models, log_row, write
from vendor_tables import NOT_ON_DATABRICKS, TEXT, WRITEBACK_LOG, table
from warehouses import Warehouse

Row = dict[str, Any]

VARIABLES = {"synctrail_sources": ["census_writeback"]}
CORE = ["+sync_log", "+sync_changelog", "+sync_snapshot", "+sync_runs", "+int_syncs"]


def build(project: Project, *arguments: str, **variables: object) -> None:
    project.run("run", *arguments, "--select", *CORE, variables=VARIABLES | variables)


def test_what_census_prunes_stays_even_through_a_full_refresh(project: Project, warehouse: Warehouse) -> None:
    """The second build sees half of the first run and the whole second, the third the second run alone."""
    expected = expected_models(FIRST_RUN + SECOND_RUN)
    write(warehouse, FIRST_RUN)
    build(project)
    assert_models_hold(warehouse, {"sync_log": [log_row(row) for row in FIRST_RUN]})
    write(warehouse, FIRST_RUN[2:] + SECOND_RUN)
    build(project)
    assert_models_hold(warehouse, expected)
    write(warehouse, SECOND_RUN[:1])
    build(project)
    assert_models_hold(warehouse, expected)
    write(warehouse, [])
    build(project, "--full-refresh")
    assert_models_hold(warehouse, expected)


def test_history_is_what_the_table_holds_where_the_user_allows_it(
    project: Project, warehouse: Warehouse
) -> None:
    write(warehouse, FIRST_RUN)
    build(project)
    write(warehouse, SECOND_RUN)
    build(project, "--full-refresh", synctrail_allow_full_refresh=True)
    assert_models_hold(warehouse, {"sync_log": [log_row(row) for row in SECOND_RUN]})
    assert [row["sync_run_id"] for row in warehouse.query("select * from sync_runs")] == ["101"]


def test_what_databricks_lacks_is_null(project: Project, warehouse: Warehouse) -> None:
    rows = FIRST_RUN + SECOND_RUN
    write(warehouse, rows, without=NOT_ON_DATABRICKS, facts=False)
    build(project)
    expected = expected_models(rows)
    unknown = dict.fromkeys(NOT_ON_DATABRICKS)
    expected["sync_log"] = [log_row(row, **unknown) for row in rows]
    nameless: Row = {"destination": None, "model_name": None, "model_id": None}
    expected["sync_runs"] = [
        row | nameless | {"destination_id": None, "source_object_id": None} for row in expected["sync_runs"]
    ]
    expected["int_syncs"] = [{"sync_id": "7", "audience_name": "7", "audience_type": None}]
    assert_models_hold(warehouse, expected)


def test_ids_and_times_may_be_text(project: Project, warehouse: Warehouse) -> None:
    columns = dict.fromkeys(WRITEBACK_LOG, TEXT)
    texts = [
        {
            name: value.isoformat() if hasattr(value, "isoformat") else value and str(value)
            for name, value in row.items()
        }
        for row in FIRST_RUN
    ]
    warehouse.write_tables("census", {"sync_log": table(columns, texts)})
    build(project)
    assert_models_hold(warehouse, {"sync_log": [log_row(row) for row in FIRST_RUN]})


def test_a_sync_that_comes_through_the_lake_too_is_warned_of(project: Project, warehouse: Warehouse) -> None:
    both = {"synctrail_sources": ["census_lake", "census_writeback"]}
    warning = ["--warn-error", "--select", "syncs_come_from_one_census_source"]
    write(warehouse, FIRST_RUN)
    lake = Lake()
    lake.load("another sync", [Attempt(log_id="1", sync_id="8")], [])
    warehouse.write_staging(lake.tables())
    project.run("run", "--select", "+sync_runs", variables=both)
    project.run("test", *warning, variables=both)
    lake.load("the same sync", [Attempt(log_id="2", sync_id="7")], [])
    warehouse.write_staging(lake.tables())
    project.run("run", "--select", "+sync_runs", variables=both)
    with pytest.raises(AssertionError, match="syncs_come_from_one_census_source"):
        project.run("test", *warning, variables=both)


@pytest.mark.parametrize("seed", [300, 301])
def test_every_build_leaves_the_core_as_the_rules_say(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    """Rows arrive in any order, and at each build the table has lost most of what earlier ones saw."""
    rng = random.Random(seed)
    lake, rows = Lake(), dict[str, Row]()
    for number, (attempts, _) in enumerate(random_deliveries(seed, syncs=60, loads=4)):
        new = {row["log_id"]: row for row in map(as_written, attempts)}
        new = {log_id: row for log_id, row in new.items() if log_id not in rows}
        left = [row for row in rows.values() if rng.random() < 0.3]
        warehouse.write_tables("census", {"sync_log": table(TEXT_LOG, [*left, *new.values()])})
        rows |= new
        lake.attempts = {"": [as_staged(row) for row in rows.values()]}
        build(project, *(["--full-refresh"] if number == 2 else []))
        history = core(lake.tables())
        assert_models_hold(
            warehouse,
            {
                "sync_log": [as_logged(row) for row in history.sync_log],
                "sync_runs": [as_run(row) for row in history.sync_runs],
                "sync_snapshot": [of_writeback(row) for row in history.sync_snapshot],
                "sync_changelog": [
                    {
                        name: value
                        for name, value in of_writeback(change).items()
                        if name not in ("kind", "log_status", "log_id")
                    }
                    for change in history.sync_changelog
                ],
            },
        )
    assert any(change["is_inferred"] for change in history.sync_changelog)


TEXT_LOG = {**WRITEBACK_LOG, "sync_id": pa.string(), "sync_run_id": pa.string()}


def as_written(attempt: Any) -> Row:
    row = attempt.row("")
    kept = {name: row[name] for name in TEXT_LOG if name in row and name not in NOT_ON_DATABRICKS}
    return {**kept, "_census_logged_at": row["_file_modified_at"]}


def as_staged(row: Row) -> Row:
    """Return the row as the reference reads one of a lake, which says nothing of files."""
    unknown: Row = {"batch_number": None, "_source_file": None, "_source_row": None}
    return {**row, **unknown, "org_id": "1", "_file_modified_at": row["_census_logged_at"]}


def of_writeback(row: Row) -> Row:
    return {**row, "source_system": "census_writeback"}


def as_logged(row: Row) -> Row:
    return {**of_writeback(row), "org_id": None, "payload_kind": "sent"}


def as_run(row: Row) -> Row:
    return {**of_writeback(row), "org_id": None}
