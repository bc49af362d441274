"""Runs the integration project with dbt, in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from tally import TALLIES

PROJECT = Path(__file__).parent
# What dbt writes beside what it compiles, nobody reads.
QUIETLY = ("--quiet", "--log-level-file", "none", "--no-write-json", "--no-partial-parse")


@cache
def parsed(place: tuple[str, ...]) -> Manifest:
    """Return the project as dbt reads it for a target and variables: once, since that takes it seconds.

    Args:
        place: The options that say which project, target and variables.

    Raises:
        AssertionError: dbt refuses the project.

    """
    outcome = dbtRunner().invoke([*QUIETLY, "parse", *place])
    assert isinstance(outcome.result, Manifest), str(outcome.exception)
    return outcome.result


class Project:
    """The integration project on one target, with variables of it; what dbt writes goes to a folder."""

    def __init__(self, target: str, folder: Path, variables: Mapping[str, object]) -> None:
        self.target = target
        self.target_path = folder / target
        self.log_path = folder / "logs"
        self.variables = variables

    def run(self, command: str, *arguments: str, variables: Mapping[str, object] | None = None) -> None:
        """Run a dbt command; a failure is an AssertionError that names each node that failed and why."""
        place = (
            "--project-dir", str(PROJECT),
            "--profiles-dir", str(PROJECT),
            "--target", self.target,
            "--target-path", str(self.target_path),
            "--log-path", str(self.log_path),
            "--vars", json.dumps({**self.variables, **(variables or {})}),
        )  # fmt: skip
        outcome = dbtRunner(parsed(place)).invoke([*QUIETLY, command, *arguments, *place])
        results = getattr(outcome.result, "results", None) or []
        self._count(results)
        if outcome.success:
            return
        failures = [
            f"{r.node.name}: {r.message}" for r in results if r.status in ("error", "fail", "runtime error")
        ]
        raise AssertionError("\n".join(failures) or str(outcome.exception))

    def _count(self, results: list[Any]) -> None:
        tally = TALLIES[self.target]
        counted = {
            ("model", "success"): tally.models_built,
            ("test", "pass"): tally.tests_passed,
            ("unit_test", "pass"): tally.unit_tests_passed,
        }
        for result in results:
            names = counted.get((str(result.node.resource_type), str(result.status)))
            if names is not None and result.node.package_name == "synctrail":
                names.add(result.node.unique_id)
