"""Counts what the tests ran on each warehouse; each test session leaves a file for each."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import asdict, dataclass, field
from pathlib import Path


@dataclass
class Tally:
    """What passed on one warehouse, each by its name once; and how many rows were as expected."""

    models_built: set[str] = field(default_factory=set)
    tests_passed: set[str] = field(default_factory=set)
    unit_tests_passed: set[str] = field(default_factory=set)
    models_compared: set[str] = field(default_factory=set)
    rows_equal: int = 0


# Of this session, by warehouse.
TALLIES: defaultdict[str, Tally] = defaultdict(Tally)


def write(folder: Path, session: str) -> None:
    """Leave this session's tallies in a folder; sessions that run side by side have names of their own."""
    folder.mkdir(parents=True, exist_ok=True)
    for warehouse, tally in TALLIES.items():
        text = json.dumps(asdict(tally), default=sorted)
        (folder / f"{warehouse}-{session}.json").write_text(text)


def read(folder: Path) -> dict[str, Tally]:
    """Return what all sessions left in a folder, by warehouse."""
    tallies: defaultdict[str, Tally] = defaultdict(Tally)
    for file in sorted(folder.glob("*.json")):
        tally = tallies[file.name.partition("-")[0]]
        left = json.loads(file.read_text())
        tally.rows_equal += left.pop("rows_equal")
        for name, values in left.items():
            getattr(tally, name).update(values)
    return tallies
