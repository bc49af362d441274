"""A customer's project, a sample lake, and the settings that docs/orchestration.md lists."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]
BIN = Path(os.environ.get("SYNCTRAIL_BIN", CHECKOUT / ".venv" / "bin")).absolute()
TWO_DAYS = 2 * 86_400


@dataclass(frozen=True)
class Customer:
    """A dbt project with a DuckDB target, and a lake in which the newest file of one sync is damaged."""

    folder: Path
    late_sync: str


def run(*command: str | Path) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


@pytest.fixture(scope="session")
def customer(tmp_path_factory: pytest.TempPathFactory) -> Customer:
    """Make the project and the lake; the damaged file is newer than all others of its sync by two days."""
    folder = tmp_path_factory.mktemp("customer")
    duckdb = {"type": "duckdb", "path": "{{ env_var('SHOP_DATABASE', '') }}", "threads": 2}
    files = {
        "dbt_project": {"name": "shop", "profile": "shop", "flags": {"send_anonymous_usage_stats": False}},
        "packages": {"packages": [{"local": str(CHECKOUT)}]},
        "profiles": {"shop": {"target": "dev", "outputs": {"dev": duckdb, "unknown": {"type": "sybase"}}}},
    }
    for name, content in files.items():  # JSON is YAML, too
        (folder / f"{name}.yml").write_text(json.dumps(content))
    run(BIN / "synctrail", "sample-lake", folder / "lake", "--rows", "2000")
    *_, newest_run = sorted((folder / "lake" / "sync_tracking_datasets").glob("*/*/*"))
    later = max(file.stat().st_mtime for file in newest_run.parent.glob("*/*.*")) + TWO_DAYS
    damaged = newest_run / "damaged.0.parquet"
    damaged.write_bytes(b"no Parquet")
    os.utime(damaged, (later, later))
    run(BIN / "dbt", "--quiet", "deps", "--project-dir", folder, "--profiles-dir", folder)
    return Customer(folder, late_sync="/".join(newest_run.parts[-3:-1]))


@pytest.fixture(autouse=True)
def settings(customer: Customer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Give the examples their settings, and the target a database of the test's own."""
    monkeypatch.setenv("SYNCTRAIL_BIN", str(BIN))
    monkeypatch.setenv("SYNCTRAIL_LAKE", str(customer.folder / "lake"))
    monkeypatch.setenv("DBT_PROJECT_DIR", str(customer.folder))
    monkeypatch.setenv("DBT_PROFILES_DIR", str(customer.folder))
    monkeypatch.setenv("SHOP_DATABASE", str(tmp_path / "shop.duckdb"))


@pytest.fixture
def count() -> Callable[[str], int]:
    """Give a function that counts the rows of a table, with the Python that has DuckDB."""

    def rows(table: str) -> int:
        program = (
            f"import duckdb; print(duckdb.connect({os.environ['SHOP_DATABASE']!r}).table({table!r}).shape[0])"
        )
        return int(subprocess.check_output([BIN / "python", "-c", program]))

    return rows
