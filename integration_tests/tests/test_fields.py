"""The field models where one payload is not enough to tell: what a test on every warehouse does not."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt_project_runner import Project
from hard_payloads import upsert
from staging_rows import Attempt, Lake, Run
from warehouses import Warehouse

SELECTION = ("--select", "+field_changes", "+field_change_summary")


def build(project: Project, warehouse: Warehouse, attempts: list[Attempt], *selection: str) -> Lake:
    lake = Lake()
    runs = sorted({attempt.sync_run_id for attempt in attempts})
    lake.load("load-0", attempts, [Run(sync_run_id=run) for run in runs])
    warehouse.write_staging(lake.tables())
    project.run("run", *(selection or SELECTION))
    return lake


def test_of_a_key_that_occurs_twice_the_last_one_counts(project: Project, warehouse: Warehouse) -> None:
    build(
        project,
        warehouse,
        [upsert(1, "a", '{"x": 1, "x": 2, "y": 1}'), upsert(2, "a", '{"x": 2, "y": 3, "y": 4}')],
    )
    changes = [
        (row["field_name"], row["new_value"]) for row in warehouse.query("select * from field_changes")
    ]
    assert changes == ([] if warehouse.target in ("spark", "spark_parquet") else [("y", "4")])


def test_the_next_update_is_compared_with_the_unreadable_payload(
    project: Project, warehouse: Warehouse
) -> None:
    payloads = ['{"x": 1}', "broken", '{"x": 2}', '{"x": 3}']
    build(project, warehouse, [upsert(run, "a", payload) for run, payload in enumerate(payloads)])
    changes = [
        (row["previous_run_id"], row["old_value"]) for row in warehouse.query("select * from field_changes")
    ]
    assert changes == [("2", "2")]


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (
            ["2025-12-01T08:00:00Z", "2025-12-01 09:00", "2025-12-01", "2025-12-01T23:59:59+00:00"],
            "timestamp_granularity",
        ),
        (["Ada", "ada ", "ADA", " aDa"], "whitespace_or_case"),
        ([1000000.1, 1000000.2, 1000000.3], "numeric_precision"),
        ([1, 2, 3], None),
        ([None, 1000000.1, None, 1000000.2], None),
    ],
)  # fmt: skip
def test_a_field_that_changes_in_name_only_is_noise(
    project: Project, warehouse: Warehouse, values: list[Any], hint: str | None
) -> None:
    """Nine such changes and one real one are noise, nine and two are not, nor are four and none."""
    histories = {"few": values * 2, "most": values * 4, "too mixed": values * 4}
    real = {"few": 0, "most": 1, "too mixed": 2}
    attempts = []
    for field_name, history in histories.items():
        quiet = {"few": 5, "most": 10, "too mixed": 10}[field_name]
        told = history[:quiet] + [f"other {number}" for number in range(real[field_name])]
        attempts += [
            upsert(run, field_name, json.dumps({field_name: value})) for run, value in enumerate(told)
        ]
    build(project, warehouse, attempts)
    hints = {
        row["field_name"]: row["noise_hint"] for row in warehouse.query("select * from field_change_summary")
    }
    assert hints == {"few": None, "most": hint, "too mixed": None}


HISTORY = [
    upsert(1, "stays", '{"a": 1, "b": {"x": 1, "y": 2}}'),
    upsert(1, "changes", '{"a": 1}'),
    upsert(1, "changes back", '{"a": 1}'),
    upsert(1, "leaves", '{"a": 1}'),
    upsert(1, "is broken", "{"),
    upsert(1, "is re-added", '{"a": 1}'),
    upsert(1, "fails", '{"a": 1}'),
    upsert(2, "stays", '{"b": {"y": 2, "x": 1.0}, "a": 1}'),
    upsert(2, "changes", '{"a": 2, "b": null}'),
    upsert(2, "changes back", '{"a": 2}'),
    upsert(2, "leaves", None, operation="delete"),
    upsert(2, "enters", '{"a": 5}'),
    upsert(2, "is broken", '{"a": 1}'),
    upsert(2, "is re-added", None, operation="delete"),
    upsert(2, "fails", '{"a": 2}', status="rejected"),
    upsert(3, "changes", '{"b": "x"}'),
    upsert(3, "changes back", '{"a": 1}'),
    upsert(3, "is re-added", '{"a": 3}'),
    upsert(3, "comes late", '{"a": 7}'),
    upsert(3, "fails", None, operation="delete", status="rejected"),
]
Difference = tuple[str, str, str | None, str | None, str | None]


DIFFERENCES: dict[tuple[str | int, str | int], list[Difference]] = {
    ("1", "2"): [
        ("changes", "modified", "a", "1", "2"),
        ("changes back", "modified", "a", "1", "2"),
        ("enters", "added", None, None, '{"a": 5}'),
        ("is re-added", "removed", None, '{"a": 1}', None),
        ("leaves", "removed", None, '{"a": 1}', None),
    ],
    ("1", "3"): [
        ("changes", "cleared", "a", "1", None),
        ("changes", "set", "b", None, "x"),
        ("comes late", "added", None, None, '{"a": 7}'),
        ("enters", "added", None, None, '{"a": 5}'),
        ("is re-added", "modified", "a", "1", "3"),
        ("leaves", "removed", None, '{"a": 1}', None),
    ],
    (3, 2): [
        ("changes", "cleared", "b", "x", None),
        ("changes", "set", "a", None, "2"),
        ("changes back", "modified", "a", "1", "2"),
        ("comes late", "removed", None, '{"a": 7}', None),
        ("is re-added", "removed", None, '{"a": 3}', None),
    ],
    ("2", "2"): [],
    ("1", "no such run'"): [],
}


def test_diff_runs_tells_how_one_runs_records_became_anothers(project: Project, warehouse: Warehouse) -> None:
    other_sync = [Attempt(log_id="other", sync_id="2", sync_run_id="2", record_payload='{"a": 9}')]
    build(project, warehouse, HISTORY + other_sync, "--select", "+int_sync_changelog")
    project.run("run", "--select", "run_differences", variables={"compared_runs": list(DIFFERENCES)})
    rows = warehouse.query("select * from run_differences order by record_identifier, change_type")
    columns = ("record_identifier", "change_type", "field_name", "old_value", "new_value")
    for number, (runs, expected) in enumerate(DIFFERENCES.items()):
        found = [tuple(row[column] for column in columns) for row in rows if row["question"] == number]
        assert found == expected, runs
    assert {(row["source_system"], row["sync_id"]) for row in rows} == {("census_lake", "1")}
