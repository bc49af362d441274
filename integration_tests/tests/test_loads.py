"""The whole way on real files: a lake that arrives in three loads, in any order, against the lake at once."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt_project_runner import PROJECT, Project
from warehouses import Warehouse

from synctrail.sample_lake import write_sample_lake

AS_OF = {"synctrail_as_of": "2026-01-02 00:00:00"}
_LOADED = (
    "bigquery",
    "duckdb",
    "postgres",
    "redshift",
    "snowflake",
    "spark",
    "spark_iceberg",
    "spark_parquet",
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small sample lake."""
    root = tmp_path_factory.mktemp("sample") / "lake"
    write_sample_lake(root, rows=4_000, seed=7, runs=62)
    return root


def test_three_loads_in_any_order_equal_one_load_and_a_full_build(
    project: Project, warehouse: Warehouse, sample: Path, tmp_path: Path
) -> None:
    if warehouse.target not in _LOADED:
        pytest.skip(f"the loader does not load into {warehouse.target} yet")
    lake = tmp_path / "lake"
    for files in dealt(sample, loads=3):
        for file in files:
            (lake / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(sample / file, lake / file)
        load_and_build(project, warehouse, lake)
    in_three = contents(warehouse)
    warehouse.reset()
    load_and_build(project, warehouse, lake)
    for model, rows in contents(warehouse).items():
        assert rows, f"{model} is empty, so nothing of it was compared"
        assert in_three[model] == rows, model


def load_and_build(project: Project, warehouse: Warehouse, lake: Path) -> None:
    """Bring what is new from the lake to the models."""
    warehouse.load(lake)
    project.run("build", "--resource-type", "model", "--resource-type", "seed", variables=AS_OF)


def dealt(sample: Path, *, loads: int) -> list[list[Path]]:
    """Deal the files of a lake to loads at random: runs come in parts and out of order."""
    rng = random.Random(11)
    files = sorted(path.relative_to(sample) for path in sample.rglob("*") if path.is_file())
    hands: list[list[Path]] = [[] for _ in range(loads)]
    for file in files:
        rng.choice(hands).append(file)
    return hands


def contents(warehouse: Warehouse) -> dict[str, list[str]]:
    """Return the rows of every public model that a lake is enough for, as texts in order."""
    models = sorted(
        path.stem
        for path in (PROJECT.parent / "models").rglob("*.sql")
        if not path.stem.startswith(("int_", "stg_")) and path.stem != "audience_holdouts"
    )
    return {
        model: sorted(
            repr({name: rounded(value) for name, value in row.items()})
            for row in warehouse.query(f"select * from {model}")
        )
        for model in models
    }


def rounded(value: Any) -> Any:
    """Return a float to nine digits: sums of them depend on the order of the rows."""
    return float(f"{value:.9g}") if isinstance(value, float) else value
