"""Asks the package's analyses, as a user does who compiles one and runs it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dbt_project_runner import Project
from warehouses import Warehouse


def compiled(project: Project, name: str, variables: Mapping[str, object] | None = None) -> str:
    """Return an analysis as SQL."""
    project.run("compile", "--select", name, variables=variables)
    return (project.target_path / "compiled" / "synctrail" / "analyses" / f"{name}.sql").read_text()


def answer(
    project: Project, warehouse: Warehouse, name: str, variables: Mapping[str, object] | None = None
) -> list[dict[str, Any]]:
    """Return the rows of an analysis, compiled with these variables on the models as they are built."""
    return warehouse.query(compiled(project, name, variables))
