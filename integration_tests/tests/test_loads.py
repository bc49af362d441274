"""The whole way on real files: a lake that arrives in three loads, in any order, against the lake at once."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from dbt_project_runner import PROJECT, Project
from typer.testing import CliRunner
from warehouses import Warehouse

from synctrail.cli import app
from synctrail.sample_lake import write_sample_lake

AS_OF = {"synctrail_as_of": "2026-01-02 00:00:00"}
LOADED_WITH_QUARANTINE = 3


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small sample lake."""
    root = tmp_path_factory.mktemp("sample") / "lake"
    write_sample_lake(root, rows=4_000, seed=7, runs=62)
    return root


def test_three_loads_in_any_order_equal_one_load_and_a_full_build(
    project: Project, warehouse: Warehouse, sample: Path, tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    for files in dealt(sample, loads=3):
        for file in files:
            (lake / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(sample / file, lake / file)
        load(lake, warehouse)
        project.run("seed", variables=AS_OF)
        project.run("run", variables=AS_OF)
    project.run("test", variables=AS_OF)
    in_three = contents(warehouse)

    warehouse.reset()
    load(lake, warehouse)
    project.run("seed", variables=AS_OF)
    project.run("run", variables=AS_OF)
    at_once = contents(warehouse)

    assert sum(map(len, at_once.values())) > 0
    for model, rows in at_once.items():
        assert rows, f"{model} is empty, so nothing of it was compared"
        assert in_three[model] == rows, model


def dealt(sample: Path, *, loads: int) -> list[list[Path]]:
    """Deal the files of a lake to loads at random: runs come in parts and out of order."""
    rng = random.Random(11)
    files = sorted(path.relative_to(sample) for path in sample.rglob("*") if path.is_file())
    hands: list[list[Path]] = [[] for _ in range(loads)]
    for file in files:
        rng.choice(hands).append(file)
    return hands


def load(lake: Path, warehouse: Warehouse) -> None:
    """Load the lake with the command that users type."""
    arguments = ["load", str(lake), "--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT)]
    outcome = CliRunner().invoke(app, [*arguments, "--target", warehouse.target])
    assert outcome.exit_code in (0, LOADED_WITH_QUARANTINE), outcome.output


def contents(warehouse: Warehouse) -> dict[str, list[str]]:
    """Return the rows of every public model, as texts in order."""
    models = sorted(
        path.stem
        for path in (PROJECT.parent / "models").rglob("*.sql")
        if not path.stem.startswith(("int_", "stg_"))
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
