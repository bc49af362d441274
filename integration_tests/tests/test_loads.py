"""The whole way on real files: a lake that arrives in three loads, in any order, against the lake at once."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from dbt_project_runner import PROJECT
from warehouses import DuckDB

from synctrail.sample_lake import write_sample_lake

BIN = Path(sys.executable).parent
AS_OF = json.dumps({"synctrail_as_of": "2026-01-02 00:00:00"})


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write a small sample lake."""
    root = tmp_path_factory.mktemp("sample") / "lake"
    write_sample_lake(root, rows=4_000, seed=7, runs=62)
    return root


def test_three_loads_in_any_order_equal_one_load_and_a_full_build(sample: Path, tmp_path: Path) -> None:
    """Loader and dbt are processes of their own: each must leave the database to the other."""
    lake, in_three, at_once = tmp_path / "lake", tmp_path / "in_three", tmp_path / "at_once"
    for files in dealt(sample, loads=3):
        for file in files:
            (lake / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(sample / file, lake / file)
        load_and_build(lake, in_three)
    load_and_build(lake, at_once)
    assert_same_contents(DuckDB(in_three), DuckDB(at_once))


def load_and_build(lake: Path, folder: Path) -> None:
    """Run the loader and dbt with the commands that users type."""
    folder.mkdir(exist_ok=True)
    project = ["--project-dir", str(PROJECT), "--profiles-dir", str(PROJECT), "--target", "duckdb"]
    paths = ["--target-path", str(folder / "target"), "--log-path", str(folder / "logs")]
    run([BIN / "synctrail", "load", lake, *project], folder)
    build = ["build", "--exclude-resource-type", "unit_test", "--vars", AS_OF]
    run([BIN / "dbt", "--quiet", *build, *project, *paths], folder)


def run(command: list[str | Path], folder: Path) -> None:
    """Run a command; if it fails, say what it printed."""
    environment = {**os.environ, "SYNCTRAIL_TEST_DIR": str(folder)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def assert_same_contents(left: DuckDB, right: DuckDB) -> None:
    """Fail unless every public model holds the same rows in both."""
    left_models, right_models = contents(left), contents(right)
    for model, rows in right_models.items():
        assert rows, f"{model} is empty, so nothing of it was compared"
        assert left_models[model] == rows, model


def dealt(sample: Path, *, loads: int) -> list[list[Path]]:
    """Deal the files of a lake to loads at random: runs come in parts and out of order."""
    rng = random.Random(11)
    files = sorted(path.relative_to(sample) for path in sample.rglob("*") if path.is_file())
    hands: list[list[Path]] = [[] for _ in range(loads)]
    for file in files:
        rng.choice(hands).append(file)
    return hands


def contents(warehouse: DuckDB) -> dict[str, list[str]]:
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
