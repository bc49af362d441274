"""The sync marts against their definitions told in Python, on random histories in any order of arrival."""

from __future__ import annotations

import math
from typing import Any

import pytest
from dbt_project_runner import Project
from random_histories import random_deliveries, spread_over_days
from reference_core import core
from reference_syncs import SyncMarts, Thresholds, sync_marts
from staging_rows import Lake, at
from warehouses import Warehouse

KEYS = {
    "sync_health": ("source_system", "sync_id"),
    "sync_daily": ("source_system", "sync_id", "date"),
    "sync_alerts": ("source_system", "sync_id", "alert_type", "opened_run_id"),
}
# Low enough for small random runs to reach each of them; some syncs are stale a day after the history's end.
THRESHOLDS = Thresholds(
    as_of=at(60 * 24 * 7), full_sync_members=2, full_sync_share=0.6, failed_records=0.5, runtime_seconds=1800
)
MODELS = "+sync_health +sync_daily +sync_alerts"
SOURCE_OBJECT: dict[str, object] = {
    "id": "30",
    "type": "DataWarehouse::FilterSegmentSource",
    "name": "Big spenders",
    "org_id": "1",
}


def assert_marts_follow_the_definitions(warehouse: Warehouse, expected: SyncMarts) -> None:
    for model, key in KEYS.items():
        rows = {tuple(row[name] for name in key): row for row in getattr(expected, model)}
        actual = warehouse.query(f"select * from {model}")
        assert sorted(map(str, rows)) == sorted(str(tuple(row[name] for name in key)) for row in actual), (
            model
        )
        for row in actual:
            wanted = rows[tuple(row[name] for name in key)]
            different = {
                name: (row[name], value) for name, value in wanted.items() if not _is_same(row[name], value)
            }
            assert not different, f"{model}, {wanted}: {different}"


def _is_same(actual: Any, expected: Any) -> bool:
    if isinstance(expected, float) and isinstance(actual, float):
        return math.isclose(actual, expected)
    return bool(actual == expected)


@pytest.mark.parametrize("seed", range(100, 106))
def test_every_load_leaves_the_sync_marts_as_defined(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    lake = Lake(facts={"source_objects": [SOURCE_OBJECT]})
    for number, delivery in enumerate(random_deliveries(seed, syncs=60, loads=4)):
        lake.load(f"load-{number}", *spread_over_days(delivery))
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", *MODELS.split(), variables=THRESHOLDS.variables())
        tables = lake.tables()
        expected = sync_marts(core(tables), tables, THRESHOLDS)
        assert_marts_follow_the_definitions(warehouse, expected)
    assert {row["alert_type"] for row in expected.sync_alerts} == {
        "failed_sync", "failed_records", "sync_runtime", "record_count_deviation", "full_sync", "stale_sync",
    }  # fmt: skip
