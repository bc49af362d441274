"""Checks the SQL that the package compiles to for a warehouse, without the warehouse.

Each statement must parse in the warehouse's dialect, and use no function or type that the warehouse does not
document: stand-ins accept more. And dbt must have no deprecation to tell of, for which it checks its JSON
schemas on these targets alone.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import sqlglot
from lint_package import BIN, CHECKOUT, VARIABLES, parse_command
from sqlglot.tokenizer_core import Token, TokenType

WORK = CHECKOUT / ".cache" / "check"
DOCUMENTED = Path(__file__).parent / "documented"
WAREHOUSES = ("bigquery", "databricks", "redshift", "snowflake")

# A project that installs the package. Its macros take the place of dbt's own: a build of a table that is
# there, or is not, and queries that find nothing, but whose text is kept.
PROJECT = {
    "name": "compiled",
    "version": "1.0.0",
    "config-version": 2,
    "profile": "synctrail_integration_tests",
    "flags": {"send_anonymous_usage_stats": False},
}
QUERY_MARK = "compiled query: "
MACROS = f"""
{{% macro is_incremental() %}}
    {{{{- return(var('is_incremental')) -}}}}
{{% endmacro %}}

{{% macro run_query(sql) %}}
    {{%- do log({QUERY_MARK!r} ~ (sql | tojson)) -%}}
    {{{{- return({{'columns': [{{}}], 'rows': []}}) -}}}}
{{% endmacro %}}
"""

# The words of the grammar that a parenthesis may follow, without being functions.
GRAMMAR = frozenset({
    "all", "and", "any", "as", "between", "by", "case", "distinct", "else", "except", "exists", "filter",
    "from", "group", "having", "in", "intersect", "is", "join", "lateral", "like", "limit", "not", "on", "or",
    "over", "partition", "select", "some", "then", "union", "using", "values", "when", "where", "with",
    "within",
})  # fmt: skip
CASTS = frozenset({"cast", "safe_cast", "try_cast"})


@dataclass(frozen=True)
class Documented:
    """The functions and types that a warehouse documents, in lower case."""

    functions: frozenset[str]
    types: frozenset[str]

    @classmethod
    def read(cls, warehouse: str) -> Documented:
        """Read a warehouse's list: a heading in brackets, then names; # begins a comment.

        A name of several words has hyphens between them.
        """
        names: dict[str, set[str]] = {"[functions]": set(), "[types]": set()}
        heading = ""
        for line in (DOCUMENTED / f"{warehouse}.txt").read_text().splitlines():
            text = line.partition("#")[0].strip()
            if text in names:
                heading = text
            elif text:
                names[heading].update(name.replace("-", " ") for name in text.split())
        return cls(frozenset(names["[functions]"]), frozenset(names["[types]"]))


def main() -> int:
    """Check what the package compiles to for the warehouse that the command line names."""
    if len(sys.argv) != 2 or sys.argv[1] not in WAREHOUSES:
        print(f"usage: {Path(__file__).name} {'|'.join(WAREHOUSES)}", file=sys.stderr)
        return 2
    # The template of an error is ninety calls, each within the next.
    sys.setrecursionlimit(50_000)
    warehouse = sys.argv[1]
    documented = Documented.read(warehouse)
    work = WORK / warehouse
    if subprocess.call(parse_command(work, warehouse), cwd=CHECKOUT, env=environment(work)):
        return 1
    n_statements = 0
    problems: set[str] = set()
    for is_incremental in (False, True):
        for name, sql in compiled(work, warehouse, is_incremental):
            n_statements += 1
            problems.update(f"{name}: {problem}" for problem in check(sql, warehouse, documented))
    for problem in sorted(problems):
        print(problem)
    print(f"{warehouse}: {n_statements} statements checked, {len(problems)} problems")
    return int(bool(problems) or not n_statements)


def environment(work: Path) -> dict[str, str]:
    """Return the environment that the integration project's profiles are read in."""
    return {**os.environ, "SYNCTRAIL_TEST_DIR": str(work)}


def compiled(work: Path, warehouse: str, is_incremental: bool) -> Iterator[tuple[str, str]]:
    """Compile the package; yield each statement with where it comes from."""
    project = work / ("incremental" if is_incremental else "first")
    shutil.rmtree(project, ignore_errors=True)
    (project / "macros").mkdir(parents=True)
    (project / "dbt_project.yml").write_text(json.dumps(PROJECT))
    (project / "packages.yml").write_text(json.dumps({"packages": [{"local": str(CHECKOUT)}]}))
    (project / "macros" / "stand_ins.sql").write_text(MACROS)
    variables = {**VARIABLES, "is_incremental": is_incremental}
    profiles = ["--profiles-dir", str(CHECKOUT / "integration_tests"), "--target", warehouse]
    options = [*profiles, "--project-dir", str(project), "--vars", json.dumps(variables)]
    for command in (["deps"], ["compile", "--no-introspect", "--no-populate-cache"]):
        logs = ["--log-path", str(project / "logs"), "--log-level-file", "debug", "--log-format-file", "json"]
        arguments = [str(BIN / "dbt"), "--quiet", *logs, *command, *options]
        subprocess.run(arguments, cwd=project, env=environment(work), check=True)
    for file in sorted((project / "target" / "compiled").rglob("*.sql")):
        yield f"{file.name} ({project.name})", file.read_text()
    for line in (project / "logs" / "dbt.log").read_text().splitlines():
        message = json.loads(line)["info"]["msg"]
        if message.startswith(QUERY_MARK):
            yield f"a query of the macros ({project.name})", json.loads(message.removeprefix(QUERY_MARK))


def check(sql: str, warehouse: str, documented: Documented) -> Iterator[str]:
    """Yield what is wrong with a statement."""
    try:
        sqlglot.parse(sql, read=warehouse, error_level=sqlglot.ErrorLevel.RAISE)
    except sqlglot.errors.SqlglotError as error:
        yield f"does not parse: {str(error)[:500]}"
        return
    tokens = sqlglot.tokenize(sql, read=warehouse)
    for name in called(tokens):
        if name not in documented.functions:
            yield f"{name}() is not documented"
    for name in cast_to(tokens):
        if name not in documented.types:
            yield f"the type {name} is not documented"


def called(tokens: list[Token]) -> Iterator[str]:
    """Yield the name of each function that is called, as it is written; sqlglot's tree has other names."""
    before = TokenType.SEMICOLON
    for token, following in pairwise(tokens):
        name = token.text.lower()
        is_name = name.replace("_", "").isalnum() and token.token_type not in (
            TokenType.IDENTIFIER, TokenType.NUMBER, TokenType.STRING,
        )  # fmt: skip
        is_call = is_name and name not in GRAMMAR and following.token_type == TokenType.L_PAREN
        # After `as` stands a type with a length, or a name with its columns.
        if is_call and before != TokenType.ALIAS:
            yield name
        before = token.token_type


def cast_to(tokens: list[Token]) -> Iterator[str]:
    """Yield the name of each type that something is cast to, without its length."""
    for start, token in enumerate(tokens):
        if token.text.lower() not in CASTS or tokens[start + 1].token_type != TokenType.L_PAREN:
            continue
        depth = 0
        words: list[str] | None = None
        for inner in tokens[start + 1 :]:
            depth += (inner.token_type == TokenType.L_PAREN) - (inner.token_type == TokenType.R_PAREN)
            if depth == 0:
                break
            if depth == 1 and words is not None and inner.token_type != TokenType.R_PAREN:
                words.append(inner.text.lower())
            elif depth == 1 and inner.token_type == TokenType.ALIAS:
                words = []
        yield " ".join(words or [])


if __name__ == "__main__":
    sys.exit(main())
