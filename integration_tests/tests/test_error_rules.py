"""The error rules and templates: what they promise on labelled messages, and alike on every warehouse."""

from __future__ import annotations

import csv
import re
import sys
from pathlib import Path
from statistics import mean
from typing import Any

import pytest
from dbt_project_runner import Project
from warehouses import Warehouse

sys.path.append(str(Path(__file__).parents[2] / "benchmarks"))
from error_rules import (
    OTHER_MESSAGES,
    UNSEEN_MESSAGES,
    alternatives,
    fault,
    leave_one_destination_out,
    match_text,
    read_messages,
    read_other_messages,
    read_rules,
    right_shares,
    template_shares,
)

FIXTURES = Path(__file__).parents[1] / "fixtures"


Pair = tuple[str | None, str | None]


def classify(
    project: Project,
    warehouse: Warehouse,
    messages: dict[str, Pair],
    variables: dict[str, object] | None = None,
) -> tuple[dict[Pair, dict[str, Any]], dict[str, str | None]]:
    """Return the category of each (message, destination) and the template of each id."""
    rows: list[dict[str, object]] = [
        {"log_id": name, "status_message": message, "sync_id": destination}
        for name, (message, destination) in messages.items()
    ]
    warehouse.write_staging({"sync_tracking_records": rows})
    variables = {"classify_messages": True, **(variables or {})}
    project.run("seed", variables=variables)
    project.run("run", "--select", "message_categories", "message_templates", variables=variables)
    categories = warehouse.query("select * from message_categories")
    templates = warehouse.query("select log_id, error_template from message_templates")
    return (
        {(row["message"], row["destination"]): row for row in categories},
        {row["log_id"]: row["error_template"] for row in templates},
    )


def test_labelled_messages_get_their_category_and_template(project: Project, warehouse: Warehouse) -> None:
    messages = read_messages()
    categories, templates = classify(
        project, warehouse, {message.id: (message.text, message.destination) for message in messages}
    )
    answers = [categories[message.text, message.destination] for message in messages]
    assert mean(a["category"] == m.category for a, m in zip(answers, messages, strict=True)) >= 0.98
    assert mean(a["is_retryable"] == m.is_retryable for a, m in zip(answers, messages, strict=True)) >= 0.98
    whole, _, apart = template_shares(messages, {name: text or "" for name, text in templates.items()})
    assert whole >= 0.95
    assert apart >= 0.95
    with (FIXTURES / "error_templates.csv").open(encoding="utf-8", newline="") as file:
        assert templates == {row["id"]: row["error_template"] for row in csv.DictReader(file)}


@pytest.mark.parametrize(("path", "floor"), [(OTHER_MESSAGES, 0.95), (UNSEEN_MESSAGES, 0.87)])
def test_messages_of_other_destinations_get_their_category(
    project: Project, warehouse: Warehouse, path: Path, floor: float
) -> None:
    messages = read_other_messages(path)
    categories, _ = classify(
        project, warehouse, {message.id: (message.text, message.destination) for message in messages}
    )
    given = {pair: (row["category"], row["is_retryable"]) for pair, row in categories.items()}
    category, retryable = right_shares(messages, given)
    assert category >= floor
    assert retryable >= 0.98


def test_no_message_is_in_two_sets() -> None:
    texts = [
        [message.text.lower() for message in messages]
        for messages in (read_messages(), read_other_messages(), read_other_messages(UNSEEN_MESSAGES))
    ]
    first, other, unseen = map(set, texts)
    assert not first & other
    assert not (first | other) & unseen
    assert len(other) == len(texts[1]) >= 300
    assert len(unseen) == len(texts[2]) >= 500


@pytest.mark.parametrize(
    ("message", "category"),
    [
        ("NULL", "null_identifier"),
        ("NULL_PRIMARY_KEY", "null_identifier"),
        ("The sync key is null for this record", "null_identifier"),
        ("Record skipped: missing sync key", "null_identifier"),
        ("Invalid row: null identifier", "null_identifier"),
        ("Primary key contains null values", "null_identifier"),
        ("Rejected: the value of the identifier column is null", "null_identifier"),
        ("userId or email is not present", "null_identifier"),
        ('Missing required value from "userIdOnly"', "null_identifier"),
        ("DUPLICATE", "duplicate_identifier"),
        ("Rows with duplicate primary key were rejected", "duplicate_identifier"),
        ("Row rejected: duplicate external id", "duplicate_identifier"),
        ("2 records have the same primary key", "duplicate_identifier"),
        ("A contact with this external id already exists", "unique_conflict"),
        ("Column name is null", "missing_required_field"),
        ("User Id not found", "record_not_found"),
    ],
)
def test_rows_that_a_tool_refuses_itself(message: str, category: str) -> None:
    rule = next(r for r in read_rules() if not r.destination and re.search(r.pattern, match_text(message)))
    assert rule.category == category


def test_a_value_of_the_record_does_not_show_in_its_template(project: Project, warehouse: Warehouse) -> None:
    variants = {
        "email": ("Contact ana@example.com was rejected", "Contact bob.b+x@example.org was rejected"),
        "uuid": (
            "Order 0b8d2a52-8f8c-4a43-9c5c-1df1b2b0a111 is closed",
            "Order A1B2C3D4-8f8c-4a43-9c5c-1df1b2b0a222 is closed",
        ),
        "number": ("Amount 12.50 exceeds the limit of 10", "Amount 1,300 exceeds the limit of 999"),
        "time": ("Rejected at 2025-01-02T03:04:05Z today", "Rejected at 2024-12-31 23:59:59.123 today"),
        "address": ("No route to 10.0.0.1:443 from here", "No route to 192.168.100.20:8443 from here"),
        "url": ("Cannot reach https://a.example.com/x?y=1 today", "Cannot reach http://b.example.org today"),
        "quoted": ("Value 'red' is no colour", "Value 'dark \"blue\"' is no colour"),
        "salesforce_id": ("Record 0013t00001abcDEAAY is gone", "Record a0C1C00001gtAsrUAE is gone"),
        "spacing": ('{"code": 7, "text": ["a"]}', '{"code":7,"text":["a"]}'),
        "line_breaks": ("First line\r\n\tsecond line", "First line second line"),
        "escaped": (
            '{"message":"Field \\"age\\" must be a whole number"}',
            '{"message": "Field \\"size\\" must be a whole number"}',
        ),
    }
    messages: dict[str, Pair] = {
        f"{name} {n}": (text, None) for name, pair in variants.items() for n, text in enumerate(pair)
    }
    _, templates = classify(project, warehouse, messages)
    pairs = {name: (templates[f"{name} 0"], templates[f"{name} 1"]) for name in variants}
    assert {name: pair for name, pair in pairs.items() if pair[0] != pair[1]} == {}


def test_codes_and_statuses_keep_templates_apart(project: Project, warehouse: Warehouse) -> None:
    messages: dict[str, Pair] = {
        text: (text, None)
        for text in (
            "HTTP 401", "HTTP 403", '{"code": "1013"}', '{"code": "1014"}', "NOT_FOUND", "NO_ACCESS",
            "503 Service Unavailable", "502 Service Unavailable", "error code: 17 met", "error code: 80 met",
        )
    }  # fmt: skip
    _, templates = classify(project, warehouse, messages)
    assert len(set(templates.values())) == len(messages), templates


def test_one_pattern_holds_for_every_way_to_join_words(project: Project, warehouse: Warehouse) -> None:
    texts = ("InvalidEmailAddress", "INVALID_EMAIL_ADDRESS", "invalid-email-address", "Invalid email address",
             "XMLInvalidEmailAddress")  # fmt: skip
    messages: dict[str, Pair] = {text: (text, None) for text in texts}
    categories, _ = classify(project, warehouse, messages)
    assert {row["category"] for row in categories.values()} == {"invalid_format"}
    assert match_text(texts[-1]) == "xml invalid email address"


def test_a_value_of_the_record_decides_no_category_but_by_a_rule_of_the_users(
    project: Project, warehouse: Warehouse
) -> None:
    values = (
        "rate.limit@example.com", "429@example.com", "ana@partner.example",
        "00000429-0403-0401-0500-000000000429", "123456",
    )  # fmt: skip
    messages: dict[str, Pair] = {value: (f"Row of {value} went astray", None) for value in values}
    categories, _ = classify(project, warehouse, messages, {"synctrail_error_rules": "own_error_rules"})
    assert [categories[pair]["category"] for pair in messages.values()] == [
        "uncategorized", "uncategorized", "their_partner", "uncategorized", "uncategorized",
    ]  # fmt: skip


def test_messages_of_any_size_and_none_at_all(project: Project, warehouse: Warehouse) -> None:
    page = "<html><body>" + "<p>x1@example.com (a) [b] 'c' 12 -</p>\n" * 3000
    messages: dict[str, Pair] = {
        "none": (None, "hubspot"),
        "empty": ("", "hubspot"),
        "page": (page, "hubspot"),
        "late": ("x" * 4000 + " 429", None),
    }
    categories, templates = classify(project, warehouse, messages)
    assert templates["none"] is None
    assert templates["empty"] == ""
    assert len(str(templates["page"])) == 1000
    assert [categories[pair]["category"] for pair in messages.values()] == ["uncategorized"] * 4
    assert all(row["is_retryable"] is False and row["suggested_action"] for row in categories.values())


def test_the_users_rules_come_first_and_hold_for_their_destination(
    project: Project, warehouse: Warehouse
) -> None:
    messages: dict[str, Pair] = {
        "a": ("TOO MANY REQUESTS", "SalesforceSandbox"),
        "b": ("TOO MANY REQUESTS", "hubspot"),
        "c": ("TOO MANY REQUESTS", None),
        "d": ("No such column 'a'", "Salesforce"),
    }
    categories, _ = classify(project, warehouse, messages, {"synctrail_error_rules": "own_error_rules"})
    found = [categories[pair] for pair in messages.values()]
    assert [(row["category"], row["is_retryable"]) for row in found] == [
        ("their_salesforce_limit", False),
        ("their_rate_limit", True),
        ("their_rate_limit", True),
        ("unknown_field", False),
    ]
    assert found[0]["suggested_action"] == "Buy more API calls."


def test_a_package_rule_with_a_destination_holds_for_that_one_alone(
    project: Project, warehouse: Warehouse
) -> None:
    messages: dict[str, Pair] = {"a": ("error 610", "Marketo"), "b": ("error 610", "Braze")}
    categories, _ = classify(project, warehouse, messages)
    found = [categories[pair]["category"] for pair in messages.values()]
    assert found == ["unsupported_operation", "uncategorized"]


def test_every_pattern_is_read_alike_by_every_engine() -> None:
    assert {rule.pattern: why for rule in read_rules() if (why := fault(rule.pattern))} == {}


@pytest.mark.parametrize(
    "pattern",
    [
        r"a.b",
        r"a\d",
        r"(?:a)",
        r"(?i)a",
        r"a*?",
        r"a++",
        r"[[a]",
        r"[[:alpha:]]",
        r"*a",
        r"(|*a)",
        r"A",
        r"(a",
        r"[\d]",
        r"a(?=b)",
        r"{2}",
        r"a_b",
    ],
)
def test_a_pattern_outside_of_the_common_subset_is_refused(pattern: str) -> None:
    assert fault(pattern)


def test_a_pattern_splits_at_its_outer_alternatives_alone() -> None:
    assert alternatives("a(b|c)|[|d]{1,2}|e$") == ["a(b|c)", "[|d]{1,2}", "e$"]


def test_rules_hold_on_destinations_that_they_were_not_made_for() -> None:
    category, retryable = leave_one_destination_out(read_rules(), read_messages())
    assert category >= 0.86
    assert retryable >= 0.96
