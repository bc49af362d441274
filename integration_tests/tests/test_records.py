"""The record marts against their definitions told in Python, on random histories in any order of arrival."""

from __future__ import annotations

from typing import Any

import pytest
from dbt_project_runner import Project
from random_histories import random_deliveries, spread_over_days
from reference_audiences import audience_marts
from reference_core import core
from reference_fields import fields
from reference_records import RecordMarts, record_marts
from staging_rows import Lake
from warehouses import Warehouse

MODELS = "+failed_records +record_activity"
# As few entries as small random histories have.
FLAPPING_ENTRIES = 2


def assert_marts_follow_the_definitions(warehouse: Warehouse, expected: RecordMarts) -> None:
    for model, rows in vars(expected).items():
        wanted = {_key(row): row for row in rows}
        actual = {_key(row): row for row in warehouse.query(f"select * from {model}")}
        assert sorted(actual) == sorted(wanted), model
        for key, row in wanted.items():
            different = {
                name: (actual[key][name], value) for name, value in row.items() if actual[key][name] != value
            }
            assert not different, f"{model}, {key}: {different}"


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["source_system"], row["sync_id"], row["record_identifier"]


@pytest.mark.parametrize("seed", range(300, 304))
def test_every_load_leaves_the_record_marts_as_defined(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    lake = Lake()
    for number, delivery in enumerate(random_deliveries(seed, syncs=200, loads=4)):
        lake.load(f"load-{number}", *spread_over_days(delivery))
        warehouse.write_staging(lake.tables())
        project.run(
            "run", "--select", *MODELS.split(), variables={"synctrail_flapping_entries": FLAPPING_ENTRIES}
        )
        tables = lake.tables()
        history = core(tables)
        memberships = audience_marts(history, tables).audience_memberships
        expected = record_marts(history, memberships, fields(tables).field_changes, FLAPPING_ENTRIES)
        assert_marts_follow_the_definitions(warehouse, expected)
    assert {row["status"] for row in expected.failed_records} == {"rejected", "invalid"}
    assert any(row["n_failed_attempts"] > 1 and row["last_succeeded_at"] for row in expected.failed_records)
    assert any(row["is_flapping"] for row in expected.record_activity)
    assert any(row["n_changed_payloads"] > 0 for row in expected.record_activity)
