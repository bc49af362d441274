"""Runs the integration project with dbt, in this process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from dbt.cli.main import dbtRunner
from tally import TALLIES

PROJECT = Path(__file__).parent


class Project:
    """The integration project on one target, with variables of it; what dbt writes goes to a folder."""

    def __init__(self, target: str, folder: Path, variables: Mapping[str, object]) -> None:
        self.target = target
        self.folder = folder
        self.variables = variables

    def target_path(self, variables: Mapping[str, object] | None = None) -> Path:
        """Return where dbt compiles to: a place for each target and its variables, which it parses once."""
        return self.folder / self.target / sha256(self._as_json(variables).encode()).hexdigest()[:16]

    def run(self, command: str, *arguments: str, variables: Mapping[str, object] | None = None) -> None:
        """Run a dbt command; a failure is an AssertionError that names each node that failed and why."""
        outcome = dbtRunner().invoke(
            [
                "--quiet",
                "--log-path", str(self.folder / "logs"),
                command,
                *arguments,
                "--project-dir", str(PROJECT),
                "--profiles-dir", str(PROJECT),
                "--target", self.target,
                "--target-path", str(self.target_path(variables)),
                "--vars", self._as_json(variables),
            ]
        )  # fmt: skip
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

    def _as_json(self, variables: Mapping[str, object] | None) -> str:
        return json.dumps({**self.variables, **(variables or {})})
