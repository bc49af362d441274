"""Fixtures: one warehouse and one dbt project a test session and warehouse."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
import tally
from dbt_project_runner import Project
from warehouses import SLOW_WAREHOUSES, VARIABLES, WAREHOUSES, Warehouse, open_warehouse


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add --warehouse, which may be repeated."""
    parser.addoption("--warehouse", action="append", choices=sorted(WAREHOUSES), help="default: duckdb")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run each test that asks for a warehouse once on each that was chosen."""
    if "warehouse" in metafunc.fixturenames:
        names = metafunc.config.getoption("--warehouse") or ["duckdb"]
        metafunc.parametrize("warehouse", names, indirect=True, scope="session")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run random histories of one seed where a build takes several times as long as on DuckDB."""
    first_seeds: dict[str, object] = {}
    dropped = []
    for item in items:
        if not isinstance(item, pytest.Function) or not hasattr(item, "callspec"):
            continue
        parameters = item.callspec.params
        if parameters.get("warehouse") not in SLOW_WAREHOUSES or "seed" not in parameters:
            continue
        seed = parameters["seed"]
        if first_seeds.setdefault(item.originalname or item.name, seed) != seed:
            dropped.append(item)
    config.hook.pytest_deselected(items=dropped)
    items[:] = [item for item in items if item not in dropped]


def pytest_sessionfinish() -> None:
    """Leave what was counted where SYNCTRAIL_TEST_TALLY asks for it."""
    folder = os.environ.get("SYNCTRAIL_TEST_TALLY")
    if folder:
        tally.write(Path(folder), str(os.getpid()))


@pytest.fixture(scope="session")
def warehouse(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Warehouse]:
    """Open a warehouse of the name that the session was asked for."""
    folder = tmp_path_factory.mktemp(request.param)
    os.environ["SYNCTRAIL_TEST_DIR"] = str(folder)
    opened = open_warehouse(request.param, folder)
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def dbt_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give one folder for all that dbt writes, so that it parses the project once and not for each test."""
    return tmp_path_factory.mktemp("dbt")


@pytest.fixture
def project(warehouse: Warehouse, dbt_folder: Path) -> Project:
    """Give the integration project on an empty warehouse."""
    return opened_project(warehouse, dbt_folder)


@pytest.fixture(scope="module")
def shared_project(warehouse: Warehouse, dbt_folder: Path) -> Project:
    """Give the integration project on a warehouse that is empty before a module's first test alone."""
    return opened_project(warehouse, dbt_folder)


def opened_project(warehouse: Warehouse, dbt_folder: Path) -> Project:
    """Empty a warehouse, and return the integration project on it."""
    warehouse.reset()
    return Project(warehouse.target, dbt_folder, VARIABLES.get(warehouse.target, {}))
