"""The error marts against the rules told in Python, on random histories in any order of arrival."""

from __future__ import annotations

import csv
import math
from dataclasses import replace
from pathlib import Path

from dbt_project_runner import Project
from reference_errors import SEED, read_rules
from staging_rows import Attempt, Lake, Run, at
from warehouses import Warehouse

FOLDER = Path(__file__).parents[1]
MODELS = ("+record_errors", "+error_summary", "+error_daily")


def test_a_run_s_destination_that_becomes_known_later_decides_the_category(
    project: Project, warehouse: Warehouse
) -> None:
    variables: dict[str, object] = {"synctrail_error_rules": "own_error_rules"}
    rejected = Attempt(log_id="1", status="rejected", status_message="Too many requests")
    lake = Lake()
    project.run("seed")
    found = []
    for load_id, runs in {"early": [], "late": [Run(destination_type="Salesforce::Connection")]}.items():
        lake.load(
            load_id, [] if runs else [rejected, replace(rejected, log_id="2", record_identifier=None)], runs
        )
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", "+record_errors", variables=variables)
        found += warehouse.query("select log_id, destination, category from record_errors order by log_id")
    assert [(row["destination"], row["category"]) for row in found] == [
        (None, "their_rate_limit"),
        (None, "their_rate_limit"),
        ("Salesforce", "their_salesforce_limit"),
        ("Salesforce", "their_salesforce_limit"),
    ]


def test_a_run_s_start_that_becomes_known_later_dates_its_errors(
    project: Project, warehouse: Warehouse
) -> None:
    """Of rows without identifier too, which are of no record."""
    untimed = Attempt(log_id="1", status="null", record_identifier=None, batch_started_at=None)
    lake = Lake()
    project.run("seed")
    lake.load("early", [untimed, replace(untimed, log_id="2", status="rejected", record_identifier="a")], [])
    warehouse.write_staging(lake.tables())
    project.run("run", "--select", *MODELS)
    lake.load("late", [], [Run(sync_run_started_at=at(60 * 24))])
    warehouse.write_staging(lake.tables())
    project.run("run", "--select", *MODELS)
    errors = warehouse.query("select * from record_errors")
    assert [row["occurred_at"] for row in errors] == [at(60 * 24)] * 2
    days = warehouse.query("select * from error_daily")
    assert {row["date"] for row in days} == {at(60 * 24).date()}
    assert sum(row["n_errors"] for row in days) == 2


def test_a_success_within_the_same_run_resolves_what_was_before_it_alone(
    project: Project, warehouse: Warehouse
) -> None:
    """A delete and an append resolve as an upsert does; a mirror run's silent removal is no attempt."""
    attempts = [
        Attempt(log_id="retried", status="rejected", batch_started_at=at(0), source_row=1),
        Attempt(log_id="retry", batch_started_at=at(1), source_row=2),
        Attempt(log_id="after", status="DUPLICATE", batch_started_at=at(2), source_row=3),
        Attempt(log_id="untimed", status="rejected", batch_started_at=None, source_row=4),
        Attempt(log_id="b1", sync_id="2", status="rejected"),
        Attempt(log_id="b2", sync_id="2", sync_run_id="101", operation="delete", batch_started_at=at(5)),
        Attempt(log_id="c1", sync_id="3", status="rejected", operation="append"),
        Attempt(log_id="c2", sync_id="3", sync_run_id="101", operation="append", batch_started_at=at(6)),
        Attempt(log_id="d0", sync_id="4", operation="mirror"),
        Attempt(log_id="d1", sync_id="4", sync_run_id="101", status="rejected", operation="mirror",
                batch_started_at=at(7)),
        Attempt(log_id="d2", sync_id="4", sync_run_id="102", record_identifier="other", operation="mirror",
                batch_started_at=at(8)),
    ]  # fmt: skip
    lake = Lake()
    lake.load("load", attempts, [])
    warehouse.write_staging(lake.tables())
    project.run("seed")
    project.run("run", "--select", "+record_errors", "+sync_changelog")
    errors = warehouse.query("select log_id, resolved_at from record_errors")
    assert {row["log_id"]: row["resolved_at"] for row in errors} == {
        "retried": at(1),
        "after": None,
        "untimed": at(1),
        "b1": at(5),
        "c1": at(6),
        "d1": None,
    }
    removals = warehouse.query("select row_id from sync_changelog where sync_id = '4' and is_inferred")
    assert [row["row_id"] for row in removals] == ["a"]


def test_an_error_that_a_file_no_longer_holds_is_gone(project: Project, warehouse: Warehouse) -> None:
    lake = Lake()
    project.run("seed")
    kept = Attempt(log_id="kept", status="rejected", record_identifier="b")
    lost = [
        Attempt(log_id="lost", status="rejected"),
        Attempt(log_id="nobody", status="null", record_identifier=""),
    ]
    for load_id, attempts in {
        "first": [kept, *lost],
        "second": [kept, replace(lost[0], status="succeeded"), replace(lost[1], status="succeeded")],
        "third": [kept, *lost],
        "fourth": [kept],
    }.items():
        lake.load(load_id, attempts, [])
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", *MODELS)
        errors = {row["log_id"] for row in warehouse.query("select log_id from record_errors")}
        assert errors == (
            {"kept", "lost", "nobody"} if len(attempts) == 3 and attempts[1] in lost else {"kept"}
        )
        days = warehouse.query("select n_errors from error_daily")
        assert sum(row["n_errors"] for row in days) == len(errors)


def test_labelled_messages_keep_their_category_and_template_in_the_mart(
    project: Project, warehouse: Warehouse
) -> None:
    with (FOLDER / "fixtures" / "error_messages.csv").open(encoding="utf-8", newline="") as file:
        messages = {row["id"]: row for row in csv.DictReader(file)}
    with (FOLDER / "fixtures" / "error_templates.csv").open(encoding="utf-8", newline="") as file:
        templates = {row["id"]: row["error_template"] for row in csv.DictReader(file)}
    sync_ids = {
        name: str(number)
        for number, name in enumerate(sorted({row["destination"] for row in messages.values()}))
    }
    lake = Lake()
    lake.load(
        "load",
        [
            Attempt(
                log_id=name,
                sync_id=sync_ids[row["destination"]],
                record_identifier=name,
                status="rejected",
                status_message=row["message"],
            )
            for name, row in messages.items()
        ],
        [Run(sync_id=sync_id, destination_type=f"{name}::Connection") for name, sync_id in sync_ids.items()],
    )
    warehouse.write_staging(lake.tables())
    project.run("seed")
    project.run("run", "--select", *MODELS)
    errors = {row["log_id"]: row for row in warehouse.query("select * from record_errors")}
    rules = read_rules(SEED)
    for name, row in messages.items():
        rule = next((rule for rule in rules if rule.matches(row["message"], row["destination"])), None)
        wanted = (rule.category, rule.is_retryable) if rule else ("uncategorized", False)
        assert (errors[name]["category"], errors[name]["is_retryable"]) == wanted, name
        assert errors[name]["error_template"] == templates[name], name
        assert errors[name]["destination"] == row["destination"]
    shares = warehouse.query(
        "select sync_id, sum(share_of_sync_errors) as share from error_summary group by sync_id"
    )
    assert len(shares) == len(sync_ids)
    assert all(math.isclose(row["share"], 1) for row in shares)
