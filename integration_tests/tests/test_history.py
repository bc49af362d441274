"""The core models against the rules told in Python, on random histories that arrive in any order."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from dbt_project_runner import Project
from random_histories import random_deliveries
from reference_core import core
from staging_rows import Lake
from warehouses import Warehouse

MODELS = ("sync_log", "sync_changelog", "sync_snapshot", "sync_runs")


def assert_models_follow_the_rules(warehouse: Warehouse, tables: dict[str, list[dict[str, Any]]]) -> None:
    expected = core(tables)
    for model in MODELS:
        rows = getattr(expected, model)
        columns = [name for name in rows[0] if name not in ("kind", "log_status")]
        actual = warehouse.query(f"select * from {model}")
        assert_same_rows(model, [_comparable(row, columns) for row in actual], [_comparable(row, columns) for row in rows])


def _comparable(row: dict[str, Any], columns: list[str]) -> tuple[tuple[str, Any], ...]:
    inferred = row.get("is_inferred")
    return tuple((name, None if inferred and name == "log_id" else row[name]) for name in columns)


def assert_same_rows(model: str, actual: list[Any], expected: list[Any]) -> None:
    missing = Counter(expected) - Counter(actual)
    surplus = Counter(actual) - Counter(expected)
    assert not missing and not surplus, f"{model}: missing {len(missing)}: {sorted(missing, key=str)[:1]}, surplus {len(surplus)}: {sorted(surplus, key=str)[:1]}"


@pytest.mark.parametrize("seed", range(8))
def test_every_load_leaves_the_models_as_the_rules_say(project: Project, warehouse: Warehouse, seed: int) -> None:
    lake = Lake()
    for number, (attempts, runs) in enumerate(random_deliveries(seed, syncs=60, loads=4)):
        lake.load(f"load-{number}", attempts, runs)
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", *(f"+{model}" for model in MODELS))
        assert_models_follow_the_rules(warehouse, lake.tables())
