"""A customer's project installs the package from a hub, builds, upgrades, and builds again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from local_hub import LocalHub
from random_histories import random_deliveries
from staging_rows import Lake
from warehouses import Warehouse

INTEGRATION_TESTS = Path(__file__).parents[1]
CHECKOUT = INTEGRATION_TESTS.parent
# What a later version might change: a column more in a history table and in a public model.
LATER_CHANGES = {
    "dbt_project.yml": [("version: 0.1.0", "version: 0.2.0")],
    "models/marts/records/int_failed_records.sql": [
        ("'last_succeeded_at'\n]", "'last_succeeded_at', 'build_number'\n]"),
        (
            "        series.last_succeeded_at\n",
            "        series.last_succeeded_at,\n        2 as build_number\n",
        ),
    ],
    "models/marts/records/failed_records.sql": [
        ("    records.record_payload\n", "    records.record_payload,\n    records.build_number\n")
    ],
    "models/marts/records/failed_records.yml": [
        (
            "        description: Payload of the last attempt (JSON), as written.\n",
            "        description: Payload of the last attempt (JSON), as written.\n"
            "      - name: build_number\n        data_type: integer\n        description: The build.\n",
        )
    ],
}


class Customer:
    """A project in a folder of its own, which knows the package from a hub alone."""

    def __init__(self, folder: Path, hub: LocalHub, target: str) -> None:
        self.folder = shutil.copytree(INTEGRATION_TESTS / "customer_project", folder)
        self._environment = {**os.environ, "DBT_PACKAGE_HUB_URL": hub.url}
        self._target = target

    def dbt(self, *arguments: str) -> str:
        """Run dbt as the customer does, and return what it prints."""
        command: list[str | Path] = [Path(sys.executable).parent / "dbt", *arguments]
        command += ["--profiles-dir", INTEGRATION_TESTS, "--target", self._target]
        done = subprocess.run(
            command, cwd=self.folder, env=self._environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def installed_version(self) -> str:
        """Return the version of the package that `dbt deps` has brought."""
        project = self.folder / "dbt_packages" / "synctrail" / "dbt_project.yml"
        return str(yaml.safe_load(project.read_text())["version"])


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Copy what a tag of this checkout would hold."""
    listed = subprocess.run(
        ["git", "ls-files"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    for name in filter(lambda name: (CHECKOUT / name).is_file(), listed):
        copy = tmp_path / "package" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, copy)
    return tmp_path / "package"


@pytest.fixture
def hub(tmp_path: Path, package: Path) -> Iterator[LocalHub]:
    """Serve the package as it is in this checkout."""
    folder = tmp_path / "hub"
    folder.mkdir()
    with LocalHub(folder, "synctrail").running() as running:
        running.publish(package)
        yield running


def test_a_customer_installs_builds_upgrades_and_builds_again(
    warehouse: Warehouse, hub: LocalHub, package: Path, tmp_path: Path
) -> None:
    """The later version adds a column: rows that a build touches have it, the others are null."""
    # Other tests run dbt in this process, which may hold the database's file.
    warehouse.close()
    warehouse.reset()
    customer = Customer(tmp_path / "customer", hub, warehouse.target)
    first, second = random_deliveries(300, syncs=30, loads=2)
    lake = Lake()
    lake.load("first", *first)
    warehouse.write_staging(lake.tables())

    customer.dbt("deps")
    assert customer.installed_version() == "0.1.0"
    customer.dbt("build", "--exclude-resource-type", "unit_test")
    before = warehouse.query("select * from failed_records")
    assert before
    assert warehouse.query("select * from failing_customers")

    make_later(package)
    hub.publish(package)
    customer.dbt("deps", "--upgrade")
    assert customer.installed_version() == "0.2.0"
    customer.dbt("build", "--exclude-resource-type", "unit_test")
    assert {row["build_number"] for row in warehouse.query("select * from failed_records")} == {None}

    lake.load("second", *second)
    warehouse.write_staging(lake.tables())
    customer.dbt("build", "--exclude-resource-type", "unit_test")
    after = warehouse.query("select * from failed_records")
    assert {row["build_number"] for row in after} == {None, 2}


def make_later(package: Path) -> None:
    for name, changes in LATER_CHANGES.items():
        text = (package / name).read_text()
        for old, new in changes:
            assert text.count(old) == 1, (name, old)
            text = text.replace(old, new)
        (package / name).write_text(text)
