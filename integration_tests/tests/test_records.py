"""The record marts against their definitions told in Python, on random histories in any order of arrival."""

from __future__ import annotations

import pytest
from analysis_answers import answer
from dbt_project_runner import Project
from random_histories import random_deliveries, spread_over_days
from staging_rows import Attempt, Lake, at
from warehouses import Warehouse

MODELS = "+failed_records +record_activity"
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
    rows = warehouse.query("select * from contacts_to_sync order by sync_id, contact_id")
    assert [(row["sync_id"], row["contact_id"]) for row in rows] == [("1", "c"), ("2", "a"), ("2", "b")]
    assert warehouse.query("select * from contacts_to_call") == [{"contact_id": "a"}]


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
