"""The field models against the rules told in Python, on random histories and on payloads that are hard to compare."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from dbt_project_runner import Project
from random_histories import random_deliveries
from reference_fields import fields
from staging_rows import Lake
from warehouses import Warehouse

COUNTS = (
    "select runs.sync_id, runs.sync_run_id, payloads.n_unparseable_payloads from int_run_payloads as payloads \
inner join int_sync_runs as runs on payloads.run_key = runs.run_key"
)


def assert_models_follow_the_rules(warehouse: Warehouse, tables: dict[str, list[dict[str, Any]]]) -> None:
    expected = fields(tables)
    for model in ("field_changes", "field_change_summary"):
        assert_same_rows(model, warehouse.query(f"select * from {model}"), getattr(expected, model))
    counts = {
        (row["sync_id"], row["sync_run_id"]): row["n_unparseable_payloads"] for row in warehouse.query(COUNTS)
    }
    assert {key: n for key, n in counts.items() if n} == {
        key: n for key, n in expected.unparseable_payloads.items() if n
    }


def assert_same_rows(model: str, actual: list[dict[str, Any]], expected: list[dict[str, Any]]) -> None:
    got, wanted = (Counter(tuple(sorted(row.items())) for row in rows) for rows in (actual, expected))
    missing, surplus = wanted - got, got - wanted
    assert not missing and not surplus, (
        f"{model}: {len(missing)} missing, {[*missing][:1]}; {len(surplus)} surplus, {[*surplus][:1]}"
    )


@pytest.mark.parametrize("seed", range(4))
def test_every_load_leaves_the_models_as_the_rules_say(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    lake = Lake()
    for number, (attempts, runs) in enumerate(random_deliveries(seed, syncs=60, loads=4)):
        lake.load(f"load-{number}", attempts, runs)
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", "+field_changes", "+field_change_summary", "+int_run_payloads")
        assert_models_follow_the_rules(warehouse, lake.tables())
