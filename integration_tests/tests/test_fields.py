"""The field models against the rules told in Python, on random histories and on hard payloads."""

from __future__ import annotations

import json
from typing import Any

import pytest
from dbt_project_runner import Project
from staging_rows import Attempt, Lake, Run, at
from warehouses import Warehouse

SELECTION = ("--select", "+field_changes", "+field_change_summary")
WIDE = {f"field_{number}": number for number in range(400)}
LONG = "x" * 500_000
DEEP = "[" * 300 + "]" * 300

# What was sent, what is sent next, and what changed: name, kind, old value, new value.
Change = tuple[str, str, str | None, str | None]
PAYLOADS: dict[str, tuple[str | None, str | None, list[Change]]] = {
    "absent, null": ('{"a": 1}', '{"a": 1, "b": null}', []),
    "null, absent": ('{"a": null, "b": null}', "{}", []),
    "set": ('{"a": null}', '{"a": "", "b": false}', [("a", "set", None, ""), ("b", "set", None, "false")]),
    "cleared": (
        '{"a": "x", "b": 0}',
        '{"b": null}',
        [("a", "cleared", "x", None), ("b", "cleared", "0", None)],
    ),
    "text null is no null": ('{"a": null}', '{"a": "null"}', [("a", "set", None, "null")]),
    "order of keys": (
        '{"a": {"x": 1, "y": {"p": 1, "q": 2}}, "b": 1}',
        '{"b":1,"a":{"y":{"q":2,"p":1},"x":1}}',
        [],
    ),
    "order of items": ('{"a": [1, 2]}', '{"a": [2, 1]}', [("a", "modified", "[1,2]", "[2,1]")]),
    "nested null": ('{"a": {"x": null}}', '{"a": {}}', [("a", "modified", '{"x":null}', "{}")]),
    "nested change": (
        '{"a": {"z": [1, {"y": "\\u00e9", "x": " "}], "b": true}}',
        '{"a": {"b": true, "z": [1, {"x": " ", "y": "e"}]}}',
        [("a", "modified", '{"b":true,"z":[1,{"x":" ","y":"é"}]}', '{"b":true,"z":[1,{"x":" ","y":"e"}]}')],
    ),
    "one number": (
        '{"a": 1, "b": 100, "c": [1, {"d": -2}], "e": 0}',
        '{"a": 1.0, "b": 1e2, "c": [1.0, {"d": -2.0}], "e": -0.0}',
        [],
    ),
    "zeros after the point": ('{"a": 1.50}', '{"a": 1.5}', []),
    "numbers in text": (
        '{"a": "[1.0,2]", "b": ["x,1.0,"]}',
        '{"a": "[1,2]", "b": ["x,1,"]}',
        [("a", "modified", "[1.0,2]", "[1,2]"), ("b", "modified", '["x,1.0,"]', '["x,1,"]')],
    ),
    "long integers": (
        '{"a": 9007199254740993, "b": 123456789012345678901}',
        '{"a": 9007199254740992, "b": 123456789012345678902}',
        [
            ("a", "modified", "9007199254740993", "9007199254740992"),
            ("b", "modified", "123456789012345678901", "123456789012345678902"),
        ],
    ),
    "fractions": ('{"a": 2.5}', '{"a": 3.0}', [("a", "modified", "2.5", "3.0")]),
    "text is no number": (
        '{"a": "1", "b": "true"}',
        '{"a": 1, "b": true}',
        [("a", "modified", "1", "1"), ("b", "modified", "true", "true")],
    ),
    "false is no zero": ('{"a": false}', '{"a": 0}', [("a", "modified", "false", "0")]),
    "escapes": ('{"a": "\\u00e9\\/\\ud83d\\ude00", "\\u00fc": 1}', '{"a": "é/😀", "ü": 1}', []),
    "composed letters": ('{"a": "é"}', '{"a": "e\u0301"}', [("a", "modified", "é", "e\u0301")]),
    "unescaped": ('{"a": "x"}', '{"a": "\\"q\\" \\\\ \\n\\t"}', [("a", "modified", "x", '"q" \\ \n\t')]),
    "letter case": ('{"A": 1, "a": 2}', '{"A": 1, "a": 3}', [("a", "modified", "2", "3")]),
    "white space": (' {"a" : 1,\n\t"b":[ 1 ]}', '{"a":1,"b":[1]} ', []),
    "wide": (json.dumps(WIDE), json.dumps({**WIDE, "field_7": -1}), [("field_7", "modified", "7", "-1")]),
    "long": (json.dumps({"a": LONG}), json.dumps({"a": LONG, "b": 1}), [("b", "set", None, "1")]),
    "deep": (f'{{"a": {DEEP}}}', f'{{"a": [{DEEP}]}}', [("a", "modified", DEEP, f"[{DEEP}]")]),
    "array": ('[{"a": 1}]', '[{"a": 2}]', []),
    "scalar": ("1", "2", []),
    "text": ('"a"', '{"a": 1}', []),
    "only null": ('{"a": 1}', "null", []),
    "empty": ("", '{"a": 1}', []),
    "broken": ('{"a": 1}', '{"a": 2', []),
    "not JSON": ('{"a": 1}', "a=2", []),
    "more after the end": ('{"a": 1}', '{"a": 2} {"a": 3}', []),
    "no payload": ('{"a": 1}', None, []),
}  # fmt: skip
for key in ("", " ", "a.b", "a b", 'q"q', "it's", "$.x", "日本", "2:x", "[0]", "a\\b", "%", "{{ x }}", "\n"):
    PAYLOADS[f"key {key!r}"] = (
        json.dumps({key: 1, "x": 1}),
        json.dumps({key: 2, "x": 1}),
        [(key, "modified", "1", "2")],
    )


def upsert(run: int, identifier: str, payload: str | None, **changes: Any) -> Attempt:
    return Attempt(
        log_id=f"{run}-{identifier}-{changes.get('operation', '')}-{changes.get('source_row', 0)}",
        sync_run_id=str(run),
        record_identifier=identifier,
        record_payload=payload,
        batch_started_at=at(run),
        **changes,
    )


def build(project: Project, warehouse: Warehouse, attempts: list[Attempt], *selection: str) -> Lake:
    lake = Lake()
    runs = sorted({attempt.sync_run_id for attempt in attempts})
    lake.load("load-0", attempts, [Run(sync_run_id=run) for run in runs])
    warehouse.write_staging(lake.tables())
    project.run("run", *(selection or SELECTION))
    return lake


@pytest.mark.every_warehouse
def test_payloads_are_compared_as_json(project: Project, warehouse: Warehouse) -> None:
    # Redshift's texts hold 65,535 bytes.
    payloads = {
        name: given for name, given in PAYLOADS.items() if name != "long" or warehouse.target != "redshift"
    }
    attempts = [
        upsert(run, name, payload)
        for name, (old, new, _) in payloads.items()
        for run, payload in ((1, old), (2, new))
    ]
    build(project, warehouse, attempts)
    actual: dict[str, list[Change]] = {name: [] for name in payloads}
    for row in warehouse.query("select * from field_changes order by field_name"):
        change = (row["field_name"], row["change_type"], row["old_value"], row["new_value"])
        actual[row["record_identifier"]].append(change)
    assert actual == {name: changes for name, (_, _, changes) in payloads.items()}
    (counted,) = warehouse.query("select sum(n_unparseable_payloads) as n from int_sync_runs")
    assert counted["n"] == 10


def test_of_a_key_that_occurs_twice_the_last_one_counts(project: Project, warehouse: Warehouse) -> None:
    build(
        project,
        warehouse,
        [upsert(1, "a", '{"x": 1, "x": 2, "y": 1}'), upsert(2, "a", '{"x": 2, "y": 3, "y": 4}')],
    )
    changes = [
        (row["field_name"], row["new_value"]) for row in warehouse.query("select * from field_changes")
    ]
    assert changes == ([] if warehouse.target in ("spark", "spark_parquet") else [("y", "4")])


def test_the_next_update_is_compared_with_the_unreadable_payload(
    project: Project, warehouse: Warehouse
) -> None:
    payloads = ['{"x": 1}', "broken", '{"x": 2}', '{"x": 3}']
    build(project, warehouse, [upsert(run, "a", payload) for run, payload in enumerate(payloads)])
    changes = [
        (row["previous_run_id"], row["old_value"]) for row in warehouse.query("select * from field_changes")
    ]
    assert changes == [("2", "2")]


@pytest.mark.parametrize(
    ("values", "hint"),
    [
        (
            ["2025-12-01T08:00:00Z", "2025-12-01 09:00", "2025-12-01", "2025-12-01T23:59:59+00:00"],
            "timestamp_granularity",
        ),
        (["Ada", "ada ", "ADA", " aDa"], "whitespace_or_case"),
        ([1000000.1, 1000000.2, 1000000.3], "numeric_precision"),
        ([1, 2, 3], None),
        ([None, 1000000.1, None, 1000000.2], None),
    ],
)  # fmt: skip
def test_a_field_that_changes_in_name_only_is_noise(
    project: Project, warehouse: Warehouse, values: list[Any], hint: str | None
) -> None:
    """Nine such changes and one real one are noise, nine and two are not, nor are four and none."""
    histories = {"few": values * 2, "most": values * 4, "too mixed": values * 4}
    real = {"few": 0, "most": 1, "too mixed": 2}
    attempts = []
    for field_name, history in histories.items():
        quiet = {"few": 5, "most": 10, "too mixed": 10}[field_name]
        told = history[:quiet] + [f"other {number}" for number in range(real[field_name])]
        attempts += [
            upsert(run, field_name, json.dumps({field_name: value})) for run, value in enumerate(told)
        ]
    build(project, warehouse, attempts)
    hints = {
        row["field_name"]: row["noise_hint"] for row in warehouse.query("select * from field_change_summary")
    }
    assert hints == {"few": None, "most": hint, "too mixed": None}


HISTORY = [
    upsert(1, "stays", '{"a": 1, "b": {"x": 1, "y": 2}}'),
    upsert(1, "changes", '{"a": 1}'),
    upsert(1, "changes back", '{"a": 1}'),
    upsert(1, "leaves", '{"a": 1}'),
    upsert(1, "is broken", "{"),
    upsert(1, "is re-added", '{"a": 1}'),
    upsert(1, "fails", '{"a": 1}'),
    upsert(2, "stays", '{"b": {"y": 2, "x": 1.0}, "a": 1}'),
    upsert(2, "changes", '{"a": 2, "b": null}'),
    upsert(2, "changes back", '{"a": 2}'),
    upsert(2, "leaves", None, operation="delete"),
    upsert(2, "enters", '{"a": 5}'),
    upsert(2, "is broken", '{"a": 1}'),
    upsert(2, "is re-added", None, operation="delete"),
    upsert(2, "fails", '{"a": 2}', status="rejected"),
    upsert(3, "changes", '{"b": "x"}'),
    upsert(3, "changes back", '{"a": 1}'),
    upsert(3, "is re-added", '{"a": 3}'),
    upsert(3, "comes late", '{"a": 7}'),
    upsert(3, "fails", None, operation="delete", status="rejected"),
]
Difference = tuple[str, str, str | None, str | None, str | None]


@pytest.mark.parametrize(
    ("run_a", "run_b", "expected"),
    [
        ("1", "2", [
            ("changes", "modified", "a", "1", "2"),
            ("changes back", "modified", "a", "1", "2"),
            ("enters", "added", None, None, '{"a": 5}'),
            ("is re-added", "removed", None, '{"a": 1}', None),
            ("leaves", "removed", None, '{"a": 1}', None),
        ]),
        ("1", "3", [
            ("changes", "cleared", "a", "1", None),
            ("changes", "set", "b", None, "x"),
            ("comes late", "added", None, None, '{"a": 7}'),
            ("enters", "added", None, None, '{"a": 5}'),
            ("is re-added", "modified", "a", "1", "3"),
            ("leaves", "removed", None, '{"a": 1}', None),
        ]),
        (3, 2, [
            ("changes", "cleared", "b", "x", None),
            ("changes", "set", "a", None, "2"),
            ("changes back", "modified", "a", "1", "2"),
            ("comes late", "removed", None, '{"a": 7}', None),
            ("is re-added", "removed", None, '{"a": 3}', None),
        ]),
        ("2", "2", []),
        ("1", "no such run'", []),
    ],
)  # fmt: skip
def test_diff_runs_tells_how_one_runs_records_became_anothers(
    project: Project, warehouse: Warehouse, run_a: str | int, run_b: str | int, expected: list[Difference]
) -> None:
    other_sync = [Attempt(log_id="other", sync_id="2", sync_run_id="2", record_payload='{"a": 9}')]
    build(project, warehouse, HISTORY + other_sync, "--select", "+int_sync_changelog")
    project.run("run", "--select", "run_differences", variables={"run_a": run_a, "run_b": run_b})
    rows = warehouse.query("select * from run_differences order by record_identifier, change_type")
    columns = ("record_identifier", "change_type", "field_name", "old_value", "new_value")
    assert [tuple(row[column] for column in columns) for row in rows] == expected
    assert {(row["source_system"], row["sync_id"]) for row in rows} <= {("census_lake", "1")}
