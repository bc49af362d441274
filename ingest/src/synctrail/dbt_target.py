"""Reads the destination from dbt's own configuration, so that one ``profiles.yml`` serves the loader and dbt.

Source: https://docs.getdbt.com/docs/core/connect-data-platform/profiles.yml (places, order and rendering).
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import yaml

from synctrail.contract import DEFAULT_SCHEMA
from synctrail.errors import UsageError

SCHEMA_VARIABLE = "synctrail_census_lake_schema"
DATABASE_VARIABLE = "synctrail_census_lake_database"
# What to do where a variable lists several, of which a load goes to one.
_CHOICES = {
    SCHEMA_VARIABLE: "choose it with --schema",
    DATABASE_VARIABLE: "give --project-dir with a project that names that one alone",
}

_CONVERTED = re.compile(r"\|\s*as_(?:number|bool|native)\b")


@dataclass(frozen=True)
class Target:
    """One output of a dbt profile, rendered, and the schema that staging goes to.

    ``database`` is where the project's variable says that staging is, if it is not the output's own.
    """

    profile: str
    name: str
    adapter: str
    settings: Mapping[str, Any]
    schema: str
    database: str | None = None


def read_target(
    *,
    project_dir: Path,
    profiles_dir: Path | None = None,
    profile: str | None = None,
    target: str | None = None,
    schema: str | None = None,
) -> Target:
    """Find the dbt target as dbt does.

    Args:
        project_dir: where ``dbt_project.yml`` is looked for.
        profiles_dir: where ``profiles.yml`` is; else DBT_PROFILES_DIR, the project, the working
            directory, ~/.dbt.
        profile: the profile's name; else the project's.
        target: the output's name; else the profile's own default.
        schema: the schema of the staging tables; else the project's variable, else ``census_lake``.

    Raises:
        UsageError: a file, profile or target is not there or cannot be read; the message names what there is.

    """
    project_file = project_dir / "dbt_project.yml"
    project = _read_yaml(project_file) if project_file.is_file() else {}
    profiles_file = _find_profiles(project_dir, profiles_dir)
    profiles = _read_yaml(profiles_file)
    name = profile or _render(project.get("profile"), project_file)
    if not name:
        raise UsageError(
            f"no profile named: {project_file} has none; give --profile, or --project-dir with a dbt project"
        )
    found = _choose(profiles, str(name), "profile", profiles_file)
    chosen = str(target or _render(found.get("target"), profiles_file) or "default")
    output = _choose(found.get("outputs") or {}, chosen, f"target of profile {name}", profiles_file)
    settings = _render(output, profiles_file)
    return Target(
        profile=str(name),
        name=chosen,
        adapter=str(settings.get("type")),
        settings=settings,
        schema=schema or _variable(project, SCHEMA_VARIABLE) or DEFAULT_SCHEMA,
        database=_variable(project, DATABASE_VARIABLE),
    )


def _find_profiles(project_dir: Path, profiles_dir: Path | None) -> Path:
    if profiles_dir is None and (from_environment := os.environ.get("DBT_PROFILES_DIR")):
        profiles_dir = Path(from_environment)
    places = [profiles_dir] if profiles_dir else [project_dir, Path.cwd(), Path.home() / ".dbt"]
    for place in places:
        if (place / "profiles.yml").is_file():
            return place / "profiles.yml"
    looked = ", ".join(dict.fromkeys(str(place) for place in places))
    raise UsageError(f"no profiles.yml in {looked}; give --profiles-dir")


def _read_yaml(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} is not what dbt expects: a mapping at its top")
    return content


def _choose(named: Mapping[str, Any], name: str, what: str, path: Path) -> dict[str, Any]:
    chosen = named.get(name)
    if not isinstance(chosen, dict):
        there = ", ".join(str(key) for key, value in named.items() if isinstance(value, dict)) or "none"
        raise UsageError(f"there is no {what} named '{name}' in {path}; there is: {there}")
    return chosen


def _variable(project: Mapping[str, Any], name: str) -> str | None:
    """Return a variable as dbt scopes it: under the project's name or the package's, or for all."""
    variables = project.get("vars")
    if not isinstance(variables, dict):
        return None
    for scope in (variables.get(project.get("name")), variables.get("synctrail"), variables):
        if isinstance(scope, dict) and (value := scope.get(name)):
            # The models read several schemas, of regions say; a load goes to one of them.
            values = value if isinstance(value, list) else [value]
            if len(values) > 1:
                raise UsageError(
                    f"{name} in dbt_project.yml lists {', '.join(map(str, values))}, and a load goes to one"
                    f" of them; {_CHOICES[name]}"
                )
            return str(values[0])
    return None


def _render(value: Any, path: Path) -> Any:
    if isinstance(value, dict):
        return {key: _render(item, path) for key, item in value.items()}
    if isinstance(value, list):
        return [_render(item, path) for item in value]
    if not isinstance(value, str) or "{" not in value:
        return value
    try:
        text = _JINJA.from_string(value).render()
    except jinja2.TemplateError as error:
        raise UsageError(f"{path}: {error}") from error
    return _native(text) if _CONVERTED.search(value) else text


def _native(text: str) -> Any:
    try:
        return ast.literal_eval(text.capitalize() if text.lower() in {"true", "false"} else text)
    except (ValueError, SyntaxError):
        return text


def _env_var(name: str, default: str | None = None) -> str:
    value = os.environ.get(name, default)
    if value is None:
        raise jinja2.UndefinedError(f"the environment variable {name} is not set")
    return value


def _as_is(value: Any) -> Any:
    return value


# The values are the user's own configuration, rendered as dbt renders it: nothing here is HTML.
_JINJA = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)  # noqa: S701
_JINJA.globals["env_var"] = _env_var
_JINJA.filters |= dict.fromkeys(("as_text", "as_number", "as_bool", "as_native"), _as_is)
