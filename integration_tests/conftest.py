"""Fixtures: one warehouse and one dbt project a test session and warehouse."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tally
import xdist.scheduler
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
    """Choose what runs on which of several warehouses; the one named first begins."""
    warehouses = config.getoption("--warehouse") or ["duckdb"]
    chosen: dict[str, list[pytest.Item]] = {name: [] for name in warehouses}
    others: list[pytest.Item] = []
    first_seeds: dict[tuple[str, str], object] = {}
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        if "warehouse" not in parameters:
            others.append(item)
            continue
        warehouse, seed = str(parameters["warehouse"]), parameters.get("seed")
        if warehouse in SLOW_WAREHOUSES:
            is_for_all = item.get_closest_marker("every_warehouse") is not None
            # A random history of one seed where a build takes several times as long as on DuckDB.
            name = item.nodeid.partition("[")[0]
            is_first = seed is None or first_seeds.setdefault((warehouse, name), seed) == seed
            if not is_first or ("duckdb" in warehouses and not is_for_all):
                continue
        chosen[warehouse].append(item)
    kept = [item for name in warehouses for item in chosen[name]] + others
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


class ByModuleAndWarehouse(xdist.scheduler.LoadScopeScheduling):
    """Keeps in one process what a module runs on a warehouse, since it may share a build."""

    def _split_scope(self, nodeid: str) -> str:
        name = nodeid.partition("[")[2]
        warehouses = WAREHOUSES.keys() & re.split(r"[\[\]-]", name)
        return " on ".join([super()._split_scope(nodeid), *sorted(warehouses)])


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> ByModuleAndWarehouse:
    """Let processes share the tests by module and warehouse, in the order that the tests have."""
    config.option.loadscopereorder = False
    return ByModuleAndWarehouse(config, log)


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
    """Give one folder for all that dbt writes: in each other, it would read the project anew."""
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
