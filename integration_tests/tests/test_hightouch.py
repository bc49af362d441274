"""Hightouch's Warehouse Sync Logs as a source, whole, pruned and with what some warehouses lack."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pytest
from comparison import assert_models_hold
from dbt_project_runner import Project
from vendor_examples.hightouch import (
    CHANGES,
    HELD_OUT,
    PLANNED,
    RUNS,
    SNAPSHOT,
    change,
    expected_audiences,
    expected_log,
    expected_models,
    run_row,
    write,
    write_plans,
)
from vendor_tables import HIGHTOUCH_CHANGELOG, HIGHTOUCH_HOLDOUT, table
from warehouses import Warehouse

Row = dict[str, Any]

VARIABLES = {"synctrail_sources": ["hightouch"]}
MODELS = ["+sync_log", "+sync_changelog", "+sync_snapshot", "+sync_runs", "+audience_memberships"]


def build(project: Project, *arguments: str, **variables: object) -> None:
    project.run("run", *arguments, "--select", *MODELS, variables=VARIABLES | variables)


def test_the_vendors_words_stand_and_its_snapshot_is_ours(project: Project, warehouse: Warehouse) -> None:
    snapshot = table(HIGHTOUCH_CHANGELOG, SNAPSHOT)
    write(warehouse, CHANGES, RUNS, sync_snapshot=snapshot)
    build(project)
    assert_models_hold(warehouse, expected_models())
    project.run("run", "--select", "stg_hightouch__snapshot", variables=VARIABLES)
    theirs = warehouse.query("select * from stg_hightouch__snapshot")
    names = HIGHTOUCH_CHANGELOG.keys() - {"sync_run_id"}
    assert_models_hold(warehouse, {"sync_snapshot": [{name: row[name] for name in names} for row in theirs]})
    test = ["test", "--warn-error", "--select", "sync_snapshot_agrees_with_hightouch"]
    project.run(*test, variables=VARIABLES)
    write(warehouse, CHANGES, RUNS, sync_snapshot=table(HIGHTOUCH_CHANGELOG, CHANGES[:1]))
    with pytest.raises(AssertionError):
        project.run(*test, variables=VARIABLES)


def test_pruned_tables_lose_nothing_even_through_a_full_refresh(
    project: Project, warehouse: Warehouse
) -> None:
    write(warehouse, CHANGES[:4], RUNS[:1])
    build(project)
    write(warehouse, CHANGES[2:8], [run_row(900, status="failed"), RUNS[1]])
    build(project)
    write(warehouse, CHANGES[8:], RUNS[2:])
    build(project)
    expected = expected_models()
    expected["sync_runs"][0]["status"] = "failed"
    assert_models_hold(warehouse, expected)
    write(warehouse, [], [])
    build(project, "--full-refresh")
    assert_models_hold(warehouse, expected)
    warehouse.write_tables("hightouch_audit", {})
    build(project, "--full-refresh")
    assert_models_hold(warehouse, expected)


def test_what_redshift_lacks_is_null_and_both_spellings_of_the_reason_are_read(
    project: Project, warehouse: Warehouse
) -> None:
    columns = {
        {"failure_reason": "failed_reason"}.get(name, name): kind
        for name, kind in HIGHTOUCH_CHANGELOG.items()
        if name not in ("fields", "split_group")
    }
    rows = [{**row, "failed_reason": row.get("failure_reason")} for row in CHANGES]
    write(warehouse, [], RUNS, sync_changelog=table(columns, rows))
    build(project)
    expected = expected_models()
    for model in ("sync_log", "sync_changelog", "sync_snapshot"):
        for row in expected[model]:
            row["split_group"] = row["record_payload" if model == "sync_log" else "fields"] = None
    assert_models_hold(warehouse, expected)
    # Hightouch adds the columns: what it has logged before is what it was.
    named = {**columns, "failure_reason": pa.string(), "fields": pa.string(), "split_group": pa.string()}
    late = change(902, "g", "added", "failed", failure_reason="Late")
    for row in rows[3:]:
        row.update(fields=None, split_group=None)
    write(warehouse, [], RUNS, sync_changelog=table(named, [*rows[3:], late]))
    build(project)
    reasons = warehouse.query(
        "select record_identifier, status_message from sync_log where status = 'rejected'"
    )
    assert sorted((row["record_identifier"], row["status_message"]) for row in reasons) == [
        ("b", "Bad e-mail"), ("b", "Bad e-mail again"), ("d", "Locked"), ("g", "Late"),
    ]  # fmt: skip


def test_runs_are_told_by_the_changelog_where_their_own_table_has_no_row(
    project: Project, warehouse: Warehouse
) -> None:
    failed = [change(901, "b", "changed", "failed"), change(901, "c", "added", "aborted")]
    write(warehouse, [*CHANGES[:5], *failed], None)
    build(project)
    run: Row = {"status": "succeeded", "started_at": None, "model_name": None, "num_planned_change": 1}
    runs = [
        run | {"sync_run_id": "900", "num_planned_add": 4, "num_attempted_add": 3, "num_failed_add": 1},
        run
        | {"sync_run_id": "901", "num_planned_add": 1, "num_attempted_add": 0, "num_failed_add": 0}
        | {"status": "failed"},
    ]
    assert_models_hold(warehouse, {"sync_runs": runs})
    names = warehouse.query("select distinct audience_name, audience_type from audience_memberships")
    assert names == [{"audience_name": "5", "audience_type": "model"}]


def test_rows_that_are_alike_all_count_and_count_once(project: Project, warehouse: Warehouse) -> None:
    for _ in range(2):
        write(warehouse, [*CHANGES[:1] * 3, *CHANGES[1:]], RUNS)
        build(project)
    assert_models_hold(warehouse, {"sync_log": expected_log([*CHANGES[:1] * 3, *CHANGES[1:]])})
    write(warehouse, CHANGES[:1], RUNS)
    build(project)
    assert len({row["log_id"] for row in warehouse.query("select log_id from sync_log")}) == len(CHANGES) + 2


def random_changes(rng: random.Random) -> list[Row]:
    return [
        change(
            rng.randrange(900, 912),
            rng.choice("abcde"),
            rng.choice(["added", "changed", "removed"]),
            rng.choice(["succeeded", "failed", "aborted", "odd"]),
            sync_id=rng.randrange(12),
            split_group=rng.choice([None, "control"]),
        )
        for _ in range(120)
    ]


def test_builds_in_any_order_come_to_what_one_build_does(project: Project, warehouse: Warehouse) -> None:
    """Rows of all runs arrive in every delivery, and rows of earlier ones are pruned."""
    rng = random.Random(8)
    runs = [run_row(run, sync_id=sync) for run in range(900, 912) for sync in range(12) if rng.random() < 0.8]
    changes: list[Row] = []
    for _ in range(4):
        new = [row for row in random_changes(rng) if row not in changes]
        new = [row for place, row in enumerate(new) if row not in new[:place]]
        left = [row for row in changes if rng.random() < 0.3]
        changes += new
        write(warehouse, left + new, [row for row in runs if rng.random() < 0.6])
        build(project)
    write(warehouse, changes, runs)
    build(project)
    models = ["sync_log", "sync_runs", "sync_changelog", "sync_snapshot", "audience_memberships"]
    stepwise = {model: warehouse.query(f"select * from {model}") for model in models}
    build(project, "--full-refresh", synctrail_allow_full_refresh=True)
    assert_models_hold(warehouse, stepwise)
    assert len(stepwise["sync_log"]) == len(changes)


def test_holdouts_and_the_planner_tell_more_of_audiences_and_are_kept(
    project: Project, warehouse: Warehouse
) -> None:
    """The second build sees the last rows alone, the third nothing; an entry that is told twice is one."""
    variables = VARIABLES | {"synctrail_hightouch_audiences": True}
    models = ["--select", "+audience_memberships", "+audience_holdouts"]

    def build_audiences(held_out_rows: list[Row], planned_rows: list[Row], *arguments: str) -> None:
        write(warehouse, CHANGES, RUNS, audience_holdout=table(HIGHTOUCH_HOLDOUT, held_out_rows))
        write_plans(warehouse, planned_rows)
        project.run("run", *arguments, *models, variables=variables)

    expected = expected_audiences()
    build_audiences(HELD_OUT[:1], PLANNED[:6])
    build_audiences(HELD_OUT[1:], PLANNED[6:])
    assert_models_hold(warehouse, expected)
    project.run("test", "--indirect-selection", "cautious", *models, variables=variables)
    build_audiences([], [], "--full-refresh")
    assert_models_hold(warehouse, expected)
