"""The audience marts against the rules told in Python, on random histories in any order of arrival."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from dbt_project_runner import Project
from random_histories import random_deliveries, spread_over_days
from reference_audiences import AudienceMarts, audience_marts
from reference_core import core
from staging_rows import Lake
from warehouses import Warehouse

MODELS = "+audience_memberships +audience_events +audience_daily"
SOURCE_OBJECT: dict[str, object] = {
    "id": "30",
    "type": "DataWarehouse::FilterSegmentSource",
    "name": "Big spenders",
    "org_id": "1",
}


def assert_marts_follow_the_rules(warehouse: Warehouse, expected: AudienceMarts) -> None:
    for model, rows in vars(expected).items():
        actual = warehouse.query(f"select * from {model}")
        missing = Counter(map(_hashable, rows)) - Counter(map(_hashable, actual))
        surplus = Counter(map(_hashable, actual)) - Counter(map(_hashable, rows))
        assert not missing and not surplus, (
            f"{model}: {len(missing)} missing, such as {sorted(missing, key=str)[:1]}, "
            f"{len(surplus)} surplus, such as {sorted(surplus, key=str)[:1]}"
        )


def _hashable(row: dict[str, Any]) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(row.items()))


@pytest.mark.parametrize("seed", range(200, 204))
def test_every_load_leaves_the_audiences_as_the_rules_say(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    lake = Lake(facts={"source_objects": [SOURCE_OBJECT]})
    for number, delivery in enumerate(random_deliveries(seed, syncs=200, loads=4)):
        lake.load(f"load-{number}", *spread_over_days(delivery))
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", *MODELS.split())
        tables = lake.tables()
        expected = audience_marts(core(tables), tables)
        assert_marts_follow_the_rules(warehouse, expected)
    assert_the_history_is_hard(expected)


def assert_the_history_is_hard(expected: AudienceMarts) -> None:
    """Fail where the random history lacks a case without which it would prove little."""
    memberships = expected.audience_memberships
    assert any(not row["entry_observed"] for row in memberships)
    assert any(row["spell_number"] > 1 for row in memberships)
    assert any(row["reached_destination_at"] is None for row in memberships)
    assert any(row["exited_at"] and row["left_destination_at"] is None for row in memberships)
    assert any(row["left_destination_at"] not in (None, row["exited_at"]) for row in memberships)
