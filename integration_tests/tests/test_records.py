"""The record marts against their definitions told in Python, on random histories in any order of arrival."""

from __future__ import annotations

from typing import Any

import pytest
from analysis_answers import answer
from dbt_project_runner import Project
from random_histories import random_deliveries, spread_over_days
from reference_audiences import audience_marts
from reference_core import core
from reference_fields import fields
from reference_records import RecordMarts, record_marts
from staging_rows import Attempt, Lake, at
from warehouses import Warehouse

MODELS = "+failed_records +record_activity"
# As few entries as small random histories have.
FLAPPING_ENTRIES = 2
# What is broken, and the shipped tests that must notice.
DAMAGE = {
    "update int_audience_spells set is_current = true": {
        "audience_daily_holds_every_entry_and_exit",
        "audience_memberships_last_for_the_records_of_the_snapshot",
    },
    "update int_record_activity set n_attempts = n_attempts + 1": {
        "record_activity_counts_every_attempt_of_a_record",
    },
    "update int_failed_records set status = 'aborted'": {"failed_records_failed_last"},
}


def assert_marts_follow_the_definitions(warehouse: Warehouse, expected: RecordMarts) -> None:
    for model, rows in vars(expected).items():
        wanted = {_key(row): row for row in rows}
        actual = {_key(row): row for row in warehouse.query(f"select * from {model}")}
        assert sorted(actual) == sorted(wanted), model
        for key, row in wanted.items():
            different = {
                name: (actual[key][name], value) for name, value in row.items() if actual[key][name] != value
            }
            assert not different, f"{model}, {key}: {different}"


def _key(row: dict[str, Any]) -> tuple[str, str, str]:
    return row["source_system"], row["sync_id"], row["record_identifier"]


@pytest.mark.parametrize("seed", range(300, 304))
def test_every_load_leaves_the_record_marts_as_defined(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    project.run("seed")
    lake = Lake()
    for number, delivery in enumerate(random_deliveries(seed, syncs=200, loads=4)):
        lake.load(f"load-{number}", *spread_over_days(delivery))
        warehouse.write_staging(lake.tables())
        project.run(
            "run", "--select", *MODELS.split(), variables={"synctrail_flapping_entries": FLAPPING_ENTRIES}
        )
        tables = lake.tables()
        history = core(tables)
        memberships = audience_marts(history, tables).audience_memberships
        expected = record_marts(history, memberships, fields(tables).field_changes, FLAPPING_ENTRIES)
        assert_marts_follow_the_definitions(warehouse, expected)
    assert {row["status"] for row in expected.failed_records} == {"rejected", "invalid"}
    assert any(row["n_failed_attempts"] > 1 and row["last_succeeded_at"] for row in expected.failed_records)
    assert any(row["is_flapping"] for row in expected.record_activity)
    assert any(row["n_changed_payloads"] > 0 for row in expected.record_activity)


def failing_contacts() -> Lake:
    """Return three runs in which contact `a` fails ever again, `b` in the last, and `c` no longer.

    In another sync, `c` is the one that fails.
    """
    statuses = {
        "100": {"a": "rejected", "b": "succeeded", "c": "rejected"},
        "101": {"a": "rejected", "b": "succeeded", "c": "succeeded"},
        "102": {"a": "DUPLICATE", "b": "rejected", "c": "succeeded"},
    }
    attempts = [
        Attempt(
            log_id=f"{run_id}-{contact}",
            sync_run_id=run_id,
            record_identifier=contact,
            status=status,
            status_message=None if status == "succeeded" else "INVALID_EMAIL",
            batch_started_at=at(60 * run),
        )
        for run, (run_id, contacts) in enumerate(statuses.items())
        for contact, status in contacts.items()
    ]
    lake = Lake()
    lake.load(
        "load-0", [*attempts, Attempt(log_id="1", sync_id="2", record_identifier="c", status="rejected")], []
    )
    return lake


def test_rows_that_keep_failing_are_filtered_out_of_a_users_model(
    project: Project, warehouse: Warehouse
) -> None:
    warehouse.write_staging(failing_contacts().tables())
    project.run("seed")
    project.run("run", "--select", "+contacts_to_sync", "+contacts_to_call")
    assert warehouse.query("select * from contacts_to_sync") == [{"contact_id": "c"}]
    assert warehouse.query("select * from contacts_to_call") == [{"contact_id": "a"}]
    project.run("run", "--select", "contacts_to_sync", variables={"sync_id": "2"})
    rows = warehouse.query("select * from contacts_to_sync order by contact_id")
    assert [row["contact_id"] for row in rows] == ["a", "b"]


def test_analyses_tell_what_keeps_failing_and_when_rows_came(project: Project, warehouse: Warehouse) -> None:
    warehouse.write_staging(failing_contacts().tables())
    project.run("seed")
    project.run("run", "--select", *MODELS.split())
    rows = answer(project, warehouse, "rows_to_filter_out_of_my_model", {"synctrail_sync_id": 1})
    assert [(row["record_identifier"], row["n_failed_attempts"]) for row in rows] == [("a", 3)]
    rows = answer(project, warehouse, "first_time_a_row_was_inserted")
    assert [(row["record_identifier"], row["first_added_at"]) for row in rows] == [
        ("b", at(0)),
        ("c", at(60)),
    ]


def test_each_conservation_test_fails_on_what_it_guards_against(
    project: Project, warehouse: Warehouse
) -> None:
    tests = set().union(*DAMAGE.values())
    lake = Lake()
    lake.load("load-0", *spread_over_days(random_deliveries(310, syncs=60, loads=1)[0]))
    warehouse.write_staging(lake.tables())
    project.run("seed")
    project.run("run")
    project.run("test", "--select", *tests)
    for damage in DAMAGE:
        warehouse.query(damage)
    with pytest.raises(AssertionError) as failure:
        project.run("test", "--select", *tests)
    assert {test for test in tests if test in str(failure.value)} == tests
