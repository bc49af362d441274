"""Brings the README's excerpts of the marts up to date with the demo's warehouse on DuckDB.

    python demo/excerpts.py [--check]

An excerpt is the table that follows a mart's name in bold. Its header says which columns it shows, ROWS which
rows. With --check nothing is written, and the exit code is 1 where the README tells something else.
"""

from __future__ import annotations

import argparse
import datetime as dt
import re
import sys
from pathlib import Path

import duckdb

CHECKOUT = Path(__file__).parent.parent
README = CHECKOUT / "README.md"
WAREHOUSE = CHECKOUT / ".cache" / "demo" / "duckdb" / "warehouse.duckdb"

FLAPPING = "audience_name = 'Revenue by account' and record_identifier = 'ACC-00000029'"
ROWS = {
    "record_errors": "where error_template like 'Insuff%' order by occurred_at, record_identifier limit 2",
    "error_summary": "where category in ('rate_limit', 'authentication') order by n_errors desc limit 3",
    "error_daily": "where category in ('rate_limit', 'authentication') order by n_errors desc, date limit 3",
    "audience_memberships": f"where {FLAPPING} order by spell_number limit 3",
    "audience_events": f"where {FLAPPING} order by event_at limit 3",
    "audience_daily": "where audience_name = 'Revenue by account' order by date desc limit 3",
    "field_changes": "where sync_run_id = '100724' order by record_identifier, field_name limit 3",
    "field_change_summary": "order by n_changes desc, field_name limit 4",
    "failed_records": "order by n_failed_attempts desc, record_identifier limit 2",
    "record_activity": "where is_flapping and n_failed > 0 order by n_exits desc, first_added_at limit 2",
    "sync_health": "where n_runs between 10 and 20 order by is_stale desc, success_rate limit 3",
    "sync_daily": "order by n_attempts desc, date desc limit 1",
    "sync_alerts": "where alert_type in ('failed_records', 'stale_sync') order by opened_at limit 3",
}
"""Which rows of each mart are shown, and in which order."""


def text(value: object) -> str:
    """Write a value as the README's tables show it: moments to the second, numbers without trailing zeros."""
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return str(value).replace("<", "\\<").replace("|", "\\|")


def excerpt(connection: duckdb.DuckDBPyConnection, mart: str, header: str) -> str:
    """Return the rows of an excerpt, each as a line of a table with this header."""
    columns = header.strip("| ").replace("|", ",")
    rows = connection.execute(f"select {columns} from synctrail.{mart} {ROWS[mart]}").fetchall()
    return "".join(f"| {' | '.join(map(text, row))} |\n" for row in rows)


def main() -> int:
    """Write the excerpts, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail where the README is out of date")
    is_check = parser.parse_args().check
    given = README.read_text()
    with duckdb.connect(str(WAREHOUSE), read_only=True) as connection:
        told = re.sub(
            r"(?m)^(\*\*`(\w+)`\*\*[^\n]*\n\n(\|[^\n]*)\n\|-[^\n]*\n)((?:\|[^\n]*\n)+)",
            lambda found: found[1] + excerpt(connection, found[2], found[3]),
            given,
        )
    if told == given:
        return 0
    if is_check:
        print("README.md's excerpts are not those of the demo: run `make excerpts`.", file=sys.stderr)
        return 1
    README.write_text(told)
    return 0


if __name__ == "__main__":
    sys.exit(main())
