"""What one build on each warehouse shows: dbt's unit tests, hard payloads, the vendors' example queries."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_answers import answer
from dbt_project_runner import Project
from hard_payloads import PAYLOADS, Change, Payloads, upsert
from staging_rows import Attempt, Lake, Run, at
from warehouses import Warehouse

SEGMENT: dict[str, object] = {
    "id": "30",
    "type": "DataWarehouse::FilterSegmentSource",
    "name": "Big spenders",
    "org_id": "1",
}
USERS = {"ana", "bob", "eve"}


@pytest.fixture(scope="module")
def payloads(warehouse: Warehouse) -> Payloads:
    """Give the hard payloads that the warehouse can hold: Redshift's texts have 65,535 bytes at most."""
    return {name: each for name, each in PAYLOADS.items() if name != "long" or warehouse.target != "redshift"}


@pytest.fixture(scope="module")
def built(
    shared_project: Project,
    warehouse: Warehouse,
    payloads: Payloads,
) -> Project:
    """Build every model once, of a lake with two syncs: one sends hard payloads, one a segment's users."""
    attempts = [
        upsert(run, name, payload)
        for name, (old, new, _) in payloads.items()
        for run, payload in ((1, old), (2, new))
    ]
    runs = [Run(sync_run_id="1"), Run(sync_run_id="2")]
    for run, minute in (("5677", 0), ("5678", 60)):
        runs.append(Run(sync_id="1234", sync_run_id=run, sync_run_started_at=at(minute)))
    lake = Lake(facts={"source_objects": [SEGMENT]})
    lake.load("load", attempts + two_runs_of_a_segment(), runs)
    warehouse.write_staging(lake.tables())
    shared_project.run("build", "--resource-type", "model", "--resource-type", "seed")
    return shared_project


def two_runs_of_a_segment() -> list[Attempt]:
    """Return the attempts of a run that adds two users and fails on a third, and of one that removes one."""
    return [
        attempt("5677", "ana"),
        attempt("5677", "bob"),
        attempt("5677", "eve", status="rejected", status_message="INVALID_EMAIL"),
        attempt("5678", "bob", operation="delete"),
        attempt("5678", "eve", status="rejected", status_message="INVALID_EMAIL"),
    ]


def attempt(run_id: str, user: str, **given: Any) -> Attempt:
    minute = {"5677": 0, "5678": 60}[run_id]
    return Attempt(
        log_id=f"{run_id}-{user}",
        sync_id="1234",
        sync_run_id=run_id,
        record_identifier=user,
        batch_started_at=at(minute + 1),
        **given,
    )


@pytest.mark.every_warehouse
def test_every_unit_test_passes(built: Project) -> None:
    """They need no rows, but the types of the tables that they stand in for."""
    built.run("test", "--select", "test_type:unit")


@pytest.mark.every_warehouse
def test_payloads_are_compared_as_json(
    built: Project,
    warehouse: Warehouse,
    payloads: Payloads,
) -> None:
    actual: dict[str, list[Change]] = {name: [] for name in payloads}
    for row in warehouse.query("select * from field_changes order by field_name"):
        change = (row["field_name"], row["change_type"], row["old_value"], row["new_value"])
        actual[row["record_identifier"]].append(change)
    assert actual == {name: changes for name, (_, _, changes) in payloads.items()}
    (counted,) = warehouse.query(
        "select sum(n_unparseable_payloads) as n from int_sync_runs where sync_id = '1'"
    )
    assert counted["n"] == 10


@pytest.mark.every_warehouse
def test_the_vendors_queries_on_the_models(built: Project, warehouse: Warehouse) -> None:
    if warehouse.target in ("bigquery", "postgres", "redshift"):
        pytest.skip(f"the queries compare ids, which are text, with numbers; {warehouse.target} does not")

    def ask(name: str, *columns: str) -> list[tuple[Any, ...]]:
        return sorted(tuple(row[column] for column in columns) for row in answer(built, warehouse, name))

    assert ask("census_rows_of_a_sync", "sync_run_id", "record_identifier", "name") == [
        ("5677", "ana", "Big spenders"),
        ("5677", "bob", "Big spenders"),
        ("5677", "eve", "Big spenders"),
        ("5678", "bob", "Big spenders"),
        ("5678", "eve", "Big spenders"),
    ]
    assert ask("census_deleted_in_a_run", "record_identifier", "operation", "name") == [
        ("bob", "delete", "Big spenders")
    ]
    assert ask("hightouch_most_common_error", "failure_reason", "c") == [("INVALID_EMAIL", 1)]
    first = [row for row in ask("hightouch_first_inserted", "row_id", "first_inserted_at") if row[0] in USERS]
    assert first == [("ana", at(0)), ("bob", at(0))]
    # It joins runs by their sync alone, as it stands in the documentation: the times are those of any run.
    events = set(ask("hightouch_entered_and_exited", "user_id", "audience", "type"))
    assert {("ana", "Big spenders", "added"), ("bob", "Big spenders", "removed")} <= events
