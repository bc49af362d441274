"""Every model against the rules told in Python, on random histories that arrive in any order."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from comparison import assert_models_hold
from dbt_project_runner import Project
from random_histories import SMALL, Delivery, random_deliveries, spread_over_days
from reference_audiences import audience_marts
from reference_core import core
from reference_errors import SEED, Rule, error_marts, read_rules
from reference_fields import fields
from reference_records import record_marts
from reference_syncs import Thresholds, sync_marts
from staging_rows import Attempt, Lake, at
from warehouses import Warehouse
from warehouses.warehouse import MODEL_SCHEMA

Row = dict[str, Any]

OWN_RULES = Path(__file__).parents[1] / "seeds" / "own_error_rules.csv"
FLAPPING_ENTRIES = 2
FIRST_SEED = 0
SEEDS = [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 20))]
# Two where a load takes minutes.
LOADS = {"duckdb": 4, "postgres": 4, "spark": 3}
# Low enough for small random runs to reach each of them; some syncs are stale a day after the history's end.
THRESHOLDS = Thresholds(
    as_of=at(60 * 24 * 7), full_sync_members=2, full_sync_share=0.6, failed_records=0.5, runtime_seconds=1800
)
SOURCE_OBJECT: Row = {
    "id": "30",
    "type": "DataWarehouse::FilterSegmentSource",
    "name": "Big spenders",
    "org_id": "1",
}
# Messages that share a template, two with a category each, and one that rules tell apart by destination.
TEMPLATES = {
    "'external_id', 'braze_id', 'user_alias', 'email' or 'phone' is required": "<value> is required",
    "'colour' is required": "<value> is required",
    "User 'ana' is gone: 558120 not found": "User <value> is gone: <value> not found",
    "User 'bob' is gone: 558121 not found": "User <value> is gone: <value> not found",
    "Too many requests": "Too many requests",
    "~": "No message",
}
# Of records that can be looked for.
NAMES = {"a": "ana@forgotten.example", "b": "bob@stays.example", "c": "eve@partly.example"}


@pytest.mark.every_warehouse
@pytest.mark.parametrize("seed", SEEDS)
def test_every_load_leaves_every_model_as_the_rules_say(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    loads = LOADS.get(warehouse.target, 2)
    deliveries = random_deliveries(seed, syncs=80, loads=loads)
    # Once, the tests that ship with the package run as well.
    last_command = ["build", "--exclude-resource-type", "unit_test"] if seed == FIRST_SEED else ["run"]
    expected = assert_each_load_holds(project, warehouse, seed, deliveries, last_command)
    assert_the_history_is_hard(expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200, 212))
def test_every_load_into_small_syncs_whose_files_come_again_leaves_every_model_as_the_rules_say(
    project: Project, warehouse: Warehouse, seed: int
) -> None:
    """As many syncs as a build still lists by name."""
    deliveries = random_deliveries(seed, syncs=190, loads=4, shape=SMALL)
    assert_each_load_holds(project, warehouse, seed, deliveries)


def test_a_sync_that_turns_out_to_be_no_mirror_removes_nobody(project: Project, warehouse: Warehouse) -> None:
    """The file with its only mirror row is loaded again without it; who was removed has no new row."""
    lake = Lake()
    replacing = Attempt(
        log_id="2", sync_run_id="101", record_identifier="b", operation="mirror", batch_started_at=at(60)
    )
    later = Attempt(log_id="3", sync_run_id="102", batch_started_at=at(120))
    loads = [[Attempt(log_id="1"), replacing, later], [replace(replacing, operation="upsert")]]
    removed = []
    for number, attempts in enumerate(loads):
        lake.load(f"load-{number}", attempts, [])
        warehouse.write_staging(lake.tables())
        project.run("run", "--select", "+sync_changelog", "+sync_snapshot", "+sync_runs")
        history = core(lake.tables())
        assert_models_hold(
            warehouse,
            {
                "sync_changelog": [public(change) for change in history.sync_changelog],
                "sync_snapshot": history.sync_snapshot,
                "sync_runs": history.sync_runs,
            },
        )
        removed.append([change["row_id"] for change in history.sync_changelog if change["is_inferred"]])
    assert removed == [["a"], []]


def test_the_forgotten_are_erased_and_all_else_is_as_if_they_had_never_been(
    project: Project, warehouse: Warehouse
) -> None:
    """Ana is forgotten in every sync, Eve in one; the build after that has new rows, too."""
    rng = random.Random(0)
    variables = {**THRESHOLDS.variables(), "synctrail_flapping_entries": FLAPPING_ENTRIES}
    lake = Lake(facts={"source_objects": [SOURCE_OBJECT]})
    project.run("seed")
    for number, delivery in enumerate(random_deliveries(6, syncs=80, loads=2)):
        attempts, runs = with_messages(spread_over_days(delivery), rng)
        named = [
            replace(attempt, record_identifier=NAMES.get(name, name))
            for attempt in attempts
            for name in [attempt.record_identifier or ""]
        ]
        lake.load(f"load-{number}", named, runs)
        if number == 0:
            warehouse.write_staging(lake.tables())
            project.run("run", variables=variables)
    assert tables_with(warehouse, NAMES["a"]) > {"int_sync_log", "int_record_errors", "int_field_changes"}

    rows = lake.tables()["sync_tracking_records"]
    one_sync = next(row["sync_id"] for row in rows if row["record_identifier"] == NAMES["c"])
    forgotten = {(NAMES["a"], None), (NAMES["c"], one_sync)}
    kept = [
        row
        for row in rows
        if not {(row["record_identifier"], None), (row["record_identifier"], row["sync_id"])} & forgotten
    ]
    tables = lake.tables() | {"sync_tracking_records": kept}
    tombstones = [tombstone(str(name), sync_id) for name, sync_id in forgotten]
    warehouse.write_staging(tables | {"forgotten_records": tombstones})
    project.run("run", variables=variables)
    assert tables_with(warehouse, NAMES["a"]) == set()
    assert tables_with(warehouse, NAMES["b"])
    assert_models_hold(warehouse, expected_models(tables, read_rules(SEED)))
    unused = warehouse.query(
        "select message_key from int_error_messages"
        " where message_key not in (select message_key from int_record_errors where not _is_deleted)"
    )
    assert unused == []


def assert_each_load_holds(
    project: Project,
    warehouse: Warehouse,
    seed: int,
    deliveries: Sequence[Delivery],
    last_command: Sequence[str] = ("run",),
) -> dict[str, list[Row]]:
    """Build the models after each load, compare them, and return what was expected after the last.

    Half-way, the user adds error rules of their own: errors from before fall under them too.
    """
    rng = random.Random(seed)
    variables = {**THRESHOLDS.variables(), "synctrail_flapping_entries": FLAPPING_ENTRIES}
    lake = Lake(facts={"source_objects": [SOURCE_OBJECT]})
    project.run("seed")
    expected: dict[str, list[Row]] = {}
    for number, delivery in enumerate(deliveries):
        lake.load(f"load-{number}", *with_messages(spread_over_days(delivery), rng))
        warehouse.write_staging(lake.tables())
        has_own_rules = number >= len(deliveries) // 2
        own = {"synctrail_error_rules": "own_error_rules"} if has_own_rules else {}
        command = last_command if delivery is deliveries[-1] else ["run"]
        project.run(*command, variables=variables | own)
        rules = read_rules(OWN_RULES, SEED) if has_own_rules else read_rules(SEED)
        expected = expected_models(lake.tables(), rules)
        assert_models_hold(warehouse, expected)
        assert_a_fingerprint_is_a_template(warehouse.query("select * from record_errors"))
    return expected


def tombstone(identifier: str, sync_id: object) -> Row:
    """Return what the loader keeps of who was forgotten, now."""
    return {
        "sync_id": sync_id,
        "identifier_hash": hashlib.sha256(f"ab12{identifier}".encode()).hexdigest(),
        "salt": "ab12",
        "forgotten_at": datetime.now(UTC),
        "load_id": "forgetting",
    }


def tables_with(warehouse: Warehouse, text: str) -> set[str]:
    """Return the models' tables and views in which some row has a text."""
    models = warehouse.query(
        f"select table_name from information_schema.tables where table_schema = '{MODEL_SCHEMA}'"
    )
    return {
        row["table_name"]
        for row in models
        if any(text in str(found) for found in warehouse.query(f"select * from {row['table_name']}"))
    }


def with_messages(delivery: Delivery, rng: random.Random) -> Delivery:
    """Let destinations give many reasons where the random history has one."""
    attempts, runs = delivery
    messages = list(TEMPLATES)
    return [
        replace(attempt, status_message=rng.choice(messages)) if attempt.status_message else attempt
        for attempt in attempts
    ], runs


def expected_models(tables: dict[str, list[Row]], rules: Sequence[Rule]) -> dict[str, list[Row]]:
    """Return the rows of every model, by its name, that the rules give for the staging tables."""
    history = core(tables)
    changes = fields(tables)
    audiences = audience_marts(history, tables)
    return {
        "sync_log": history.sync_log,
        "sync_runs": history.sync_runs,
        "sync_snapshot": history.sync_snapshot,
        "sync_changelog": [public(change) for change in history.sync_changelog],
        "field_changes": changes.field_changes,
        "field_change_summary": changes.field_change_summary,
        **vars(audiences),
        **vars(
            record_marts(history, audiences.audience_memberships, changes.field_changes, FLAPPING_ENTRIES)
        ),
        **vars(sync_marts(history, tables, THRESHOLDS)),
        **vars(error_marts(history, list(rules), TEMPLATES)),
    }


def public(change: Row) -> Row:
    """Return a change without what is the reference's own; the log_id of an inferred removal is any hash."""
    return {name: value for name, value in change.items() if name not in ("kind", "log_status", "log_id")}


def assert_a_fingerprint_is_a_template(errors: list[Row]) -> None:
    pairs = {(row["error_fingerprint"], row["error_template"]) for row in errors}
    assert (
        len(pairs)
        == len({fingerprint for fingerprint, _ in pairs})
        == len({template for _, template in pairs})
    )
    assert all(fingerprint for fingerprint, _ in pairs)


def assert_the_history_is_hard(expected: dict[str, list[Row]]) -> None:
    """Fail where the random history lacks a case without which it would prove little."""
    memberships, failed = expected["audience_memberships"], expected["failed_records"]
    errors, summary = expected["record_errors"], expected["error_summary"]
    assert any(change["is_inferred"] for change in expected["sync_changelog"])
    assert any(not row["entry_observed"] for row in memberships)
    assert any(row["spell_number"] > 1 for row in memberships)
    assert {row["status"] for row in failed} == {"rejected", "invalid"}
    assert any(row["n_failed_attempts"] > 1 and row["last_succeeded_at"] for row in failed)
    assert any(row["is_flapping"] for row in expected["record_activity"])
    assert any(row["n_changed_payloads"] > 0 for row in expected["record_activity"])
    assert any(row["change_type"] == "modified" for row in expected["field_changes"])
    assert {row["alert_type"] for row in expected["sync_alerts"]} == {
        "failed_sync", "failed_records", "sync_runtime", "record_count_deviation", "full_sync", "stale_sync",
    }  # fmt: skip
    assert {"their_rate_limit", "their_salesforce_limit"} <= {row["category"] for row in errors}
    assert any(row["resolved_at"] for row in errors)
    assert any(not row["record_identifier"] for row in errors)
    assert any(0 < row["n_open_records"] < row["n_records"] for row in summary)
    assert any(0 < row["n_resolved_records"] < row["n_records"] for row in summary)
