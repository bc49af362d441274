"""Score the error rules and templates on labelled messages, and hold the patterns to what all engines share.

    python benchmarks/error_rules.py [--spark] [--postgres]

Prints figures and keeps none. Categories and templates come from the package's own macros, compiled by dbt
and run on DuckDB. Exit code 1 if a pattern leaves the common subset, engines differ, or a target is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import io
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean

import duckdb
from dbt.cli.main import dbtRunner

REPOSITORY = Path(__file__).parents[1]
MESSAGES = REPOSITORY / "integration_tests" / "fixtures" / "error_messages.csv"
OTHER_MESSAGES = REPOSITORY / "integration_tests" / "fixtures" / "error_messages_other.csv"
UNSEEN_MESSAGES = REPOSITORY / "integration_tests" / "fixtures" / "error_messages_unseen.csv"
RULES = REPOSITORY / "seeds" / "error_category_rules.csv"
READ_CHARACTERS = 4000
# What the macro error_words does: e-mail addresses, UUIDs and long numbers left out, words of CamelCase and
# snake_case one space apart, in lower case.
WORD_STEPS = [
    (re.compile(r"[A-Za-z0-9._%+*-]+@[A-Za-z0-9*.-]*[A-Za-z0-9*]"), "@"),
    (re.compile("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}"), "0"),
    (re.compile("[0-9]{6,}"), "0"),
    (re.compile("([a-z])([A-Z])"), r"\1 \2"),
    (re.compile("([A-Z][A-Z])([A-Z][a-z][a-z])"), r"\1 \2"),
    (re.compile("[ _-]+"), " "),
]

# One token of the common subset of RE2, Java, POSIX and Snowflake. A class holds no [ (Java nests classes)
# and no backslash; a quantifier is never lazy or possessive; groups are plain.
_TOKEN = re.compile(
    r"(?P<cls>\[\^?[^\[\]\\]+\])|(?P<group>\()(?!\?)|(?P<close>\))|(?P<or>\|)|(?P<anchor>[\^$])"
    r"|(?P<quantifier>[?*+]|\{[0-9]+(,[0-9]*)?\})(?![?*+{])"
    r"|(?P<literal>[^\\\[\]().|?*+{}^$])"
)


@dataclass(frozen=True)
class Rule:
    """One row of the seed."""

    priority: int
    destination: str
    pattern: str
    category: str
    is_retryable: bool


@dataclass(frozen=True)
class Message:
    """One labelled message; its template_id is empty where templates are not labelled."""

    id: str
    destination: str
    text: str
    category: str
    is_retryable: bool
    template_id: str


def read_rules(path: Path = RULES) -> list[Rule]:
    """Return the seed's rules in the order in which they are tried."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [
            Rule(
                int(row["priority"]),
                row["destination"],
                row["pattern"],
                row["category"],
                row["is_retryable"] == "true",
            )
            for row in csv.DictReader(file)
        ]
    return sorted(rows, key=lambda rule: rule.priority)


def read_messages(path: Path = MESSAGES) -> list[Message]:
    """Return the labelled messages."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Message(
                row["id"],
                row["destination"],
                row["message"],
                row["category"],
                row["is_retryable"] == "true",
                row["template_id"],
            )
            for row in csv.DictReader(file)
        ]


def read_other_messages(path: Path = OTHER_MESSAGES) -> list[Message]:
    """Return the labelled messages of other destinations and wordings, which have no template ids."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Message(
                f"{path.stem} {number}",
                row["destination"],
                row["message"],
                row["category"],
                row["retryable"] == "true",
                "",
            )
            for number, row in enumerate(csv.DictReader(file))
        ]


def fault(pattern: str) -> str | None:
    """Return why a pattern leaves the subset that every engine reads alike; None if it stays in it."""
    if pattern != pattern.lower() or "_" in pattern:
        return "has a capital letter or an underscore, but messages are read as words in lower case"
    if "'" in pattern:
        return "has a single quote, which dbt cannot write to Spark through a session; [&-(] matches one"
    position, quantifiable = 0, False
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            return (
                f"has {pattern[position : position + 6]!r} at {position}, which not every engine reads alike"
            )
        if token.lastgroup == "quantifier" and not quantifiable:
            return f"repeats nothing at {position}"
        quantifiable = token.lastgroup in ("cls", "close", "literal")
        position = token.end()
    try:
        re.compile(pattern)
    except re.error as error:
        return str(error)
    return None


def alternatives(pattern: str) -> list[str]:
    """Return a pattern's alternatives at its top level."""
    parts, depth = [""], 0
    for token in _TOKEN.finditer(pattern):
        depth += (token.lastgroup == "group") - (token.lastgroup == "close")
        if token.lastgroup == "or" and depth == 0:
            parts.append("")
        else:
            parts[-1] += token.group()
    return parts


def name_key(name: str) -> str:
    """Return a destination's name as rules compare it."""
    return re.sub("[^a-z0-9]+", "", name.lower())


def match_text(message: str) -> str:
    """Return a message as the package's patterns read it."""
    text = message[:READ_CHARACTERS]
    for pattern, replacement in WORD_STEPS:
        text = pattern.sub(replacement, text)
    return text.lower()


def applies(rule: Rule, destination: str) -> bool:
    """Return whether a rule holds for a destination."""
    return name_key(rule.destination) in name_key(destination)


def leave_one_destination_out(rules: list[Rule], messages: list[Message]) -> tuple[float, float]:
    """Return the shares of right categories and retryables when each destination's own rules are taken away.

    For each destination, the rules that match messages of this destination alone are dropped. Those that
    match other destinations' messages too, or no message at all, stay.
    """
    patterns = [re.compile(rule.pattern) for rule in rules]
    hits = [
        [
            number
            for number, (rule, pattern) in enumerate(zip(rules, patterns, strict=True))
            if applies(rule, message.destination) and pattern.search(match_text(message.text))
        ]
        for message in messages
    ]
    support: dict[int, set[str]] = defaultdict(set)
    for message, numbers in zip(messages, hits, strict=True):
        for number in numbers:
            support[number].add(message.destination)
    right = retryable = 0
    for message, numbers in zip(messages, hits, strict=True):
        kept = (rules[number] for number in numbers if support[number] != {message.destination})
        rule = next(kept, None)
        right += (rule.category if rule else "uncategorized") == message.category
        retryable += (rule.is_retryable if rule else False) == message.is_retryable
    return right / len(messages), retryable / len(messages)


def right_shares(
    messages: list[Message], given: Mapping[tuple[str | None, str | None], tuple[str, bool]]
) -> tuple[float, float]:
    """Return the shares of messages whose given category and whose given is_retryable are right."""
    answers = [given[message.text, message.destination] for message in messages]
    return (
        mean(answer[0] == message.category for answer, message in zip(answers, messages, strict=True)),
        mean(answer[1] == message.is_retryable for answer, message in zip(answers, messages, strict=True)),
    )


def template_shares(messages: list[Message], templates: dict[str, str]) -> tuple[float, float, float]:
    """Return the shares of template ids kept whole, kept whole of those with several messages, kept apart."""
    of_id: dict[str, set[str]] = defaultdict(set)
    ids_of: dict[str, set[str]] = defaultdict(set)
    sizes = Counter(message.template_id for message in messages)
    for message in messages:
        of_id[message.template_id].add(templates[message.id])
        ids_of[templates[message.id]].add(message.template_id)
    whole = {name for name, found in of_id.items() if len(found) == 1}
    several = {name for name in of_id if sizes[name] > 1}
    apart = [name for name, found in of_id.items() if all(len(ids_of[template]) == 1 for template in found)]
    return len(whole) / len(of_id), len(whole & several) / len(several), len(apart) / len(of_id)


class Package:
    """The package in a project of its own in a scratch folder, on a DuckDB file."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.database = folder / "warehouse.duckdb"
        targets = {
            "duckdb": {"type": "duckdb", "path": str(self.database), "schema": "main"},
            "spark": {"type": "spark", "method": "session", "host": "localhost", "schema": "default"},
        }
        profile = {"benchmark": {"target": "duckdb", "outputs": targets}}
        (folder / "profiles.yml").write_text(json.dumps(profile))
        (folder / "packages.yml").write_text(json.dumps({"packages": [{"local": str(REPOSITORY)}]}))
        project = {
            "name": "benchmark", "profile": "benchmark", "config-version": 2, "version": "1.0",
            "flags": {"send_anonymous_usage_stats": False},
        }  # fmt: skip
        (folder / "dbt_project.yml").write_text(json.dumps(project))
        self.dbt("deps")

    def dbt(self, command: str, *arguments: str) -> object:
        """Run a dbt command and return its result."""
        outcome = dbtRunner().invoke(
            [
                "--quiet",
                command,
                "--project-dir",
                str(self.folder),
                "--profiles-dir",
                str(self.folder),
                *arguments,
            ]
        )
        if not outcome.success:
            raise SystemExit(f"dbt {command} failed: {outcome.exception or outcome.result}")
        return outcome.result

    def compiled(self, sql: str, target: str = "duckdb") -> str:
        """Return SQL with macros as dbt compiles it for a target."""
        with contextlib.redirect_stdout(io.StringIO()):  # dbt prints what it compiles
            result = self.dbt("compile", "--inline", sql, "--target", target)
        return str(result.results[0].node.compiled_code)  # type: ignore[attr-defined]

    def words(self, target: str = "duckdb") -> str:
        """Return the expression for a message's words as dbt compiles it for a target."""
        return self.compiled(
            f"{{{{ synctrail.error_words('substring(message, 1, {READ_CHARACTERS})') }}}}", target
        )


TEMPLATE_QUERY = "select id, {{ synctrail.error_template('message') }} as template from error_messages"


def first_match_query(rules: list[Rule], words: str, match: str, quote: str) -> str:
    """Return a query for the place of the first rule whose pattern matches, destinations aside; -1 for none.

    `words` is what error_words compiles to, `match` is the engine's expression with {} for the pattern's
    literal, `quote` its escaped single quote.
    """
    branches = " ".join(
        f"when {match.replace('{}', chr(39) + rule.pattern.replace(chr(39), quote) + chr(39))} then {number}"
        for number, rule in enumerate(rules)
    )
    texts = f"(select id, {words} as words from error_messages) as texts"
    return f"select id, case {branches} else -1 end as rule_number from {texts}"


def python_numbers(rules: list[Rule], messages: list[Message]) -> dict[str, int]:
    """Return the place of the first matching rule as Python's regular expressions give it."""
    patterns = [re.compile(rule.pattern) for rule in rules]
    texts = {message.id: match_text(message.text) for message in messages}
    return {
        name: next((n for n, p in enumerate(patterns) if p.search(text)), -1) for name, text in texts.items()
    }


Results = tuple[dict[str, int], dict[str, str]]


def literal(text: str) -> str:
    """Return a text as standard SQL writes it."""
    return "'" + text.replace("'", "''") + "'"


def spark_results(package: Package, rules: list[Rule], messages: list[Message]) -> Results:
    """Return rule numbers and templates as Spark (Java's regular expressions) gives them."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - starting Java is asked for by an option

    session = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false").config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", str(package.folder / "spark-warehouse")).getOrCreate()
    )  # fmt: skip
    session.sparkContext.setLogLevel("OFF")
    frame = session.createDataFrame([(m.id, m.text) for m in messages], ["id", "message"])
    frame.coalesce(1).createOrReplaceTempView("error_messages")
    numbers = session.sql(first_match_query(rules, package.words("spark"), "words rlike {}", "\\'")).collect()
    templates = session.sql(package.compiled(TEMPLATE_QUERY, "spark")).collect()
    session.stop()
    return {row[0]: row[1] for row in numbers}, {row[0]: row[1] for row in templates}


def postgres_results(package: Package, rules: list[Rule], messages: list[Message]) -> Results:
    """Return rule numbers and templates as a throw-away PostgreSQL server (POSIX) gives them."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    initdb = str(found[-1]) if found else shutil.which("initdb")
    if initdb is None:
        raise SystemExit(
            "--postgres needs PostgreSQL's server programs: install Debian's package postgresql."
        )
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    user = "postgres" if os.geteuid() == 0 else None  # the server refuses to run as root
    if user:
        shutil.chown(folder, user)
    control = [str(Path(initdb).with_name("pg_ctl")), "-D", f"{folder}/data", "-w", "-l", f"{folder}/log"]

    def run(*command: str) -> None:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=user, cwd=folder)

    run(
        initdb,
        "-D",
        f"{folder}/data",
        "-U",
        "benchmark",
        "-A",
        "trust",
        "-E",
        "UTF8",
        "--locale=C.UTF-8",
        "-N",
    )
    run(*control, "-o", f"-k {folder} -c listen_addresses=''", "start")
    try:
        values = ", ".join(f"({literal(message.id)}, {literal(message.text)})" for message in messages)
        # DuckDB's regexp_replace(text, pattern, replacement, 'g') is PostgreSQL's too.
        script = f"""
            create temporary table error_messages as select * from (values {values}) as v (id, message);
            select json_agg(json_build_array(n.id, n.rule_number, t.template))
            from ({first_match_query(rules, package.words(), "words ~ {}", "''")}) as n
            join ({package.compiled(TEMPLATE_QUERY)}) as t on n.id = t.id;
        """
        psql = [
            "psql",
            "-h",
            str(folder),
            "-U",
            "benchmark",
            "-d",
            "postgres",
            "-qAtX",
            "-v",
            "ON_ERROR_STOP=1",
        ]
        answer = subprocess.run(psql, input=script, capture_output=True, text=True, check=True)
    finally:
        run(*control, "-m", "immediate", "stop")
        shutil.rmtree(folder)
    rows = json.loads(answer.stdout)
    return {row[0]: row[1] for row in rows}, {row[0]: row[2] for row in rows}


def main() -> int:
    """Print the figures; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--spark", action="store_true", help="compare with Java's regular expressions")
    parser.add_argument("--postgres", action="store_true", help="compare with POSIX regular expressions")
    options = parser.parse_args()
    rules, labelled, other = read_rules(), read_messages(), read_other_messages()
    unseen = read_other_messages(UNSEEN_MESSAGES)
    messages = labelled + other + unseen
    misses = [f"rule {rule.priority} {why}" for rule in rules if (why := fault(rule.pattern))]

    with tempfile.TemporaryDirectory() as scratch:
        package = Package(Path(scratch))
        package.dbt("seed", "--select", "error_category_rules")
        with duckdb.connect(package.database) as connection:
            connection.execute(
                "create table error_messages (id varchar, message varchar, destination varchar)"
            )
            connection.executemany(
                "insert into error_messages values (?, ?, ?)",
                [(m.id, m.text, m.destination) for m in messages],
            )
        queries = {
            "categories": package.compiled("{{ synctrail.error_categories('error_messages') }}"),
            "templates": package.compiled(TEMPLATE_QUERY),
        }
        with duckdb.connect(package.database) as connection:
            given = {
                (row[0], row[1]): (row[2], row[3])
                for row in connection.execute(
                    f"select message, destination, category, is_retryable from ({queries['categories']})"
                ).fetchall()
            }
            templates = dict(connection.execute(queries["templates"]).fetchall())
            duckdb_query = first_match_query(rules, package.words(), "regexp_matches(words, {})", "''")
            numbers = dict(connection.execute(duckdb_query).fetchall())
        others: dict[str, Results] = {"Python": (python_numbers(rules, messages), templates)}
        if options.postgres:
            others["PostgreSQL"] = postgres_results(package, rules, messages)
        if options.spark:
            others["Spark"] = spark_results(package, rules, messages)

    category, retryable = right_shares(labelled, given)
    other_category, other_retryable = right_shares(other, given)
    unseen_category, unseen_retryable = right_shares(unseen, given)
    left_category, left_retryable = leave_one_destination_out(rules, labelled)
    parts = [replace(rule, pattern=part) for rule in rules for part in alternatives(rule.pattern)]
    least_category, least_retryable = leave_one_destination_out(parts, labelled + other)
    whole, several_whole, apart = template_shares(labelled, templates)
    figures = [
        ("category right", category, 0.95),
        ("is_retryable right", retryable, 0.95),
        ("category right, other messages", other_category, 0.95),
        ("is_retryable right, other messages", other_retryable, 0.95),
        ("category right, messages once unseen", unseen_category, 0.87),
        ("is_retryable right, messages once unseen", unseen_retryable, 0.95),
        ("category right, each destination's own rules left out", left_category, 0.85),
        ("is_retryable right, each destination's own rules left out", left_retryable, 0.95),
        ("both former sets, each alternative of a pattern being a rule of its own", least_category, None),
        ("the same for is_retryable", least_retryable, None),
        ("template ids kept whole", whole, 0.95),
        ("template ids kept whole, of those with several messages", several_whole, None),
        ("template ids kept apart", apart, 0.95),
    ]
    destinations = {message.destination for message in messages}
    print(f"{len(rules)} rules, {len(messages)} messages of {len(destinations)} destinations")
    for name, share, target in figures:
        print(f"{share:7.1%}  {name}" + (f" (target {target:.0%})" if target else ""))
        if target and share < target:
            misses.append(f"{name}: {share:.1%} is below {target:.0%}")
    for message in messages:
        got, _ = given[message.text, message.destination]
        if got != message.category:
            print(f"wrong: {message.id} {message.destination}: {got}, not {message.category}")
            if message.category == "uncategorized":
                print(f"       forced into a category: {message.text[:80]}")
    for engine, (their_numbers, their_templates) in others.items():
        different = sum(numbers[m.id] != their_numbers[m.id] for m in messages)
        other_templates = sum(templates[m.id] != their_templates[m.id] for m in messages)
        print(f"DuckDB and {engine}: {different} rules and {other_templates} templates differ")
        if different or other_templates:
            misses.append(f"{engine} differs from DuckDB")
    print("\n".join(misses) or "all targets are met")
    return 1 if misses else 0


if __name__ == "__main__":
    raise SystemExit(main())
