"""Payloads that engines may read or compare otherwise: two runs of each, and what changed between them."""

from __future__ import annotations

import json
from typing import Any

from staging_rows import Attempt, at

WIDE = {f"field_{number}": number for number in range(400)}
LONG = "x" * 500_000
DEEP = "[" * 300 + "]" * 300

# What was sent, what is sent next, and what changed: name, kind, old value, new value.
Change = tuple[str, str, str | None, str | None]
Payloads = dict[str, tuple[str | None, str | None, list[Change]]]
PAYLOADS: Payloads = {
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
    """Return an attempt to send a record with a payload, in a run of a number."""
    return Attempt(
        log_id=f"{run}-{identifier}-{changes.get('operation', '')}-{changes.get('source_row', 0)}",
        sync_run_id=str(run),
        record_identifier=identifier,
        record_payload=payload,
        batch_started_at=at(run),
        **changes,
    )
