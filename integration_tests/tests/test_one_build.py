"""What one build of all sources shows on each warehouse.

dbt's unit tests, hard payloads, the vendors' own logs, the queries of their documentation.
"""

from __future__ import annotations

from typing import Any

import pytest
from analysis_answers import answer
from comparison import assert_models_hold
from dbt_project_runner import Project
from hard_payloads import PAYLOADS, Change, Payloads, upsert
from staging_rows import Attempt, Lake, Run, at
from vendor_examples import census_writeback, hightouch, rudderstack
from vendor_tables import HIGHTOUCH_CHANGELOG, HIGHTOUCH_HOLDOUT, table
from warehouses import Warehouse

SEGMENT: dict[str, object] = {
    "id": "30",
    "type": "DataWarehouse::FilterSegmentSource",
    "name": "Big spenders",
    "org_id": "1",
}
# The queries of the other vendors compare ids with numbers; RudderStack's are texts, and get these here.
NUMBERED = {"2abC": "9", "runA": "1", "runB": "2"}


def numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{name: NUMBERED.get(value, value) for name, value in row.items()} for row in rows]


VENDORS = {
    "census_writeback": [
        census_writeback.expected_models(census_writeback.FIRST_RUN + census_writeback.SECOND_RUN)
    ],
    "hightouch": [hightouch.expected_models(), hightouch.expected_audiences()],
    "rudderstack": [{model: numbered(rows) for model, rows in rudderstack.expected_models().items()}],
}
VARIABLES = {"synctrail_sources": ["census_lake", *VENDORS], "synctrail_hightouch_audiences": True}
# Those that a lake alone does not build, and the tests that stand by themselves.
VENDORS_MODELS = [
    *(f"stg_{vendor}__*" for vendor in VENDORS),
    "int_hightouch_*",
    "audience_holdouts",
    "sync_snapshot_agrees_with_hightouch",
    "syncs_come_from_one_census_source",
]


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
    """Build every model once: a lake with two syncs, of hard payloads and of a segment, and vendors' logs."""
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
    census_writeback.write(warehouse, census_writeback.FIRST_RUN + census_writeback.SECOND_RUN)
    tables = {
        "audience_holdout": table(HIGHTOUCH_HOLDOUT, hightouch.HELD_OUT),
        "sync_snapshot": table(HIGHTOUCH_CHANGELOG, hightouch.SNAPSHOT),
    }
    hightouch.write(warehouse, hightouch.CHANGES, hightouch.RUNS, **tables)
    hightouch.write_plans(warehouse, hightouch.PLANNED)
    rudderstack.write(warehouse, numbered(rudderstack.ROWS))
    build = ["build", "--resource-type", "model", "--resource-type", "seed"]
    shared_project.run(*build, variables=VARIABLES)
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
def test_every_unit_test_passes(built: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """They need no rows, but the types of the tables that they stand in for.

    Spark reads the times that dbt makes of theirs in the session's time zone.
    """
    monkeypatch.setenv("SYNCTRAIL_TEST_TIME_ZONE", "UTC")
    built.run("test", "--select", "test_type:unit")
    # Those of a model that Hightouch's tables alone bring.
    built.run("test", "--select", "stg_hightouch__attempts,test_type:unit", variables=VARIABLES)


@pytest.mark.every_warehouse
def test_payloads_are_compared_as_json(
    built: Project,
    warehouse: Warehouse,
    payloads: Payloads,
) -> None:
    actual: dict[str, list[Change]] = {name: [] for name in payloads}
    for row in warehouse.query("select * from field_changes where sync_id = '1' order by field_name"):
        change = (row["field_name"], row["change_type"], row["old_value"], row["new_value"])
        actual[row["record_identifier"]].append(change)
    assert actual == {name: changes for name, (_, _, changes) in payloads.items()}
    (counted,) = warehouse.query(
        "select sum(n_unparseable_payloads) as n from int_sync_runs where sync_id = '1'"
    )
    assert counted["n"] == 10


@pytest.mark.every_warehouse
@pytest.mark.parametrize("vendor", VENDORS)
def test_the_vendors_logs_come_to_what_they_say(built: Project, warehouse: Warehouse, vendor: str) -> None:
    for models in VENDORS[vendor]:
        assert_models_hold(warehouse, models, where=f"source_system = '{vendor}'")


@pytest.mark.every_warehouse
def test_every_data_test_of_the_vendors_models_passes(built: Project) -> None:
    """The others run on a random history; here, a warning fails like an error."""
    strict = ["--warn-error-options", '{"error": ["LogTestResult"]}']
    built.run(
        "test", *strict, "--select", *VENDORS_MODELS, "--exclude", "test_type:unit", variables=VARIABLES
    )


@pytest.mark.every_warehouse
def test_the_vendors_queries_on_the_models(built: Project, warehouse: Warehouse) -> None:
    if warehouse.target in ("bigquery", "postgres", "redshift"):
        pytest.skip(f"the queries compare ids, which are text, with numbers; {warehouse.target} does not")

    def ask(name: str, *columns: str) -> list[tuple[Any, ...]]:
        rows = answer(built, warehouse, name)
        return sorted((tuple(row[column] for column in columns) for row in rows), key=str)

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
    assert ask("hightouch_most_common_error", "failure_reason", "c") == [
        ("429: slow down", 1),
        ("Bad e-mail again", 1),
        ("INVALID_EMAIL", 1),
    ]
    first = ask("hightouch_first_inserted", "sync_id", "row_id", "first_inserted_at")
    assert [row for row in first if row[0] == "1234"] == [("1234", "ana", at(0)), ("1234", "bob", at(0))]
    # It joins runs by their sync alone, as it stands in the documentation: the times are those of any run.
    events = set(ask("hightouch_entered_and_exited", "user_id", "audience", "type"))
    assert {("ana", "Big spenders", "added"), ("bob", "Big spenders", "removed")} <= events
