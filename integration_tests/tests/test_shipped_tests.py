"""The tests that ship with the package: they pass on what the models build, and fail on what is broken."""

from __future__ import annotations

import pytest
from dbt_project_runner import Project
from random_histories import random_deliveries
from staging_rows import Lake
from warehouses import Warehouse

# What is broken, and the tests that must notice.
DAMAGE = {
    "update int_sync_log set _is_deleted = true": {
        "sync_changelog_holds_every_attempt_once",
        "sync_runs_plan_the_attempts_of_the_log",
        "sync_snapshot_holds_records_of_the_log_alone",
        "sync_daily_holds_every_dated_attempt",
    },
    "update int_sync_changelog set is_final_attempt = true": {
        "sync_changelog_has_one_final_attempt_per_record_and_run",
    },
    "update sync_runs set num_inferred_remove = num_inferred_remove + 1": {
        "sync_runs_count_the_inferred_removals",
    },
    "update int_run_days set n_members_gained = n_members_gained + 1": {
        "sync_health_counts_the_members_that_runs_gained_and_did_not_lose",
    },
}


def load_random_history(warehouse: Warehouse, seed: int) -> None:
    lake = Lake()
    for number, (attempts, runs) in enumerate(random_deliveries(seed, syncs=30, loads=2)):
        lake.load(f"load-{seed}-{number}", attempts, runs)
    warehouse.write_staging(lake.tables())


def test_every_test_passes_on_a_first_and_a_second_build(project: Project, warehouse: Warehouse) -> None:
    load_random_history(warehouse, seed=200)
    project.run("build", "--exclude-resource-type", "unit_test")
    load_random_history(warehouse, seed=201)
    project.run("build", "--exclude-resource-type", "unit_test")


def test_each_conservation_test_fails_on_what_it_guards_against(
    project: Project, warehouse: Warehouse
) -> None:
    tests = set().union(*DAMAGE.values())
    load_random_history(warehouse, seed=200)
    project.run(
        "run", "--select", "+sync_log", "+sync_snapshot", "+sync_health", "+sync_daily", "sync_changelog"
    )
    project.run("test", "--select", *tests)
    for damage in DAMAGE:
        warehouse.query(damage)
    with pytest.raises(AssertionError) as failure:
        project.run("test", "--select", *tests)
    assert {test for test in tests if test in str(failure.value)} == tests
