"""Measures the models: a full build, one after a run more, and the same with a tenth of the history.

    python benchmarks/models.py [--warehouse duckdb|spark] [--work DIR]

It writes lakes of ten syncs to a folder of its own in DIR (default: .cache of the checkout), loads them,
builds them with dbt in a process of its own, and removes the folder at the end. The seconds are dbt's: from
the first model to the last, without parsing the project.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

from report import CHECKOUT, Figure, folder_in, options_with_work, peak_of_command, show
from synctrail.jars import delta_jars
from synctrail.lake import RECORDS_PREFIX

BIN = Path(sys.executable).parent
SYNCS = 10
RECORDS_PER_SYNC = 100_000
BEGUN = dt.datetime(2025, 11, 20, tzinfo=dt.UTC)
# As docs/warehouses.md tells users to: most builds are over before Java's optimizing compiler has paid.
JAVA = "-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m"
AS_OF = {"synctrail_as_of": "2026-01-01 00:00:00"}
FULL_MINUTES = {"duckdb": 3, "spark": 15}
FULL_MB = {"duckdb": "8,192 MB"}
MORE_LIMIT = {"duckdb": 0.10, "spark": 0.25}
HISTORY_LIMIT = 1.5


@dataclass(frozen=True)
class Build:
    """One run of dbt: its seconds in all and per model, the wall clock's, and its memory."""

    seconds: float
    models: dict[str, float]
    wall_seconds: float
    mb: int


def write_run(lake: Path, sync: int, run: int, rows: int) -> None:
    """Write one run of one sync: ``rows`` of its records, each once; a fifth of them with another payload."""
    random = np.random.default_rng((sync, run))
    numbers = random.choice(RECORDS_PER_SYNC, rows, replace=False)
    revisions = (numbers + run) // 5
    started = BEGUN + dt.timedelta(hours=run, minutes=sync)
    chance = random.random(rows)
    texts, revised = pa.array(numbers).cast(pa.string()), pa.array(revisions).cast(pa.string())
    users = pc.binary_join_element_wise(f"user-{sync}-", texts, "")
    plans = pa.array(["free", "pro", "team"]).take(pa.array(revisions % 3))
    rejected = pa.array(chance < 0.02)
    removed = pa.array((chance >= 0.02) & (chance < 0.06))
    reasons = pc.binary_join_element_wise("INVALID_EMAIL: ", users, "@example.com is not valid", "")
    times = pa.repeat(pa.scalar(started, pa.timestamp("us", "UTC")), rows)
    columns = {
        "identifier": users,
        "record_payload": pc.binary_join_element_wise(
            '{"email":"', users, '@example.com","name":"Name ', texts, '","plan":"', plans,
            '","score":', revised, f',"last_seen":"{started.date()}T00:00:00Z",',
            '"tags":["a","b"],"city":"Berlin","visits":1.0}', "",
        ),
        "operation": pc.if_else(removed, "delete", "upsert"),
        "status": pc.if_else(rejected, "rejected", "succeeded"),
        "status_message": pc.if_else(rejected, reasons, None),
        "batch_started_at": times,
        "batch_ended_at": pc.add(times, pa.scalar(dt.timedelta(seconds=30))),
    }  # fmt: skip
    folder = lake / RECORDS_PREFIX / "1" / str(sync) / str(1000 + run)
    folder.mkdir(parents=True)
    pq.write_table(pa.table(columns), folder / "records_updated.0.parquet")
    (folder / "metadata.json").write_text(
        json.dumps(
            {
                "organizationId": 1,
                "source": {"type": "DataWarehouse::FilterSegmentSource", "id": 20, "objectId": sync},
                "destination": {"type": "Salesforce::Connection", "id": 40, "objectId": 50},
                "syncRunStartedAt": started.isoformat(),
            }
        )
    )


class Warehouse:
    """A warehouse in a folder, reached with the commands and the profile of the demo."""

    def __init__(self, name: str, folder: Path, memory: str) -> None:
        self.target = ["--target", name]
        self.folder = folder
        folder.mkdir()
        self.environment = {
            **os.environ,
            "SYNCTRAIL_DEMO_DIR": str(folder),
            "SYNCTRAIL_DEMO_MEMORY": memory,
            # Spark's own way, which suits much data.
            "SYNCTRAIL_DEMO_CODEGEN": "FALLBACK",
            "SYNCTRAIL_DEMO_JAVA": JAVA,
            "SYNCTRAIL_DEMO_PARTITIONS": "32",
            "SYNCTRAIL_DEMO_JARS": ",".join(map(str, delta_jars(CHECKOUT / ".cache" / "jars"))),
            "PYSPARK_PYTHON": sys.executable,
        }
        self.run(BIN / "dbt", "--quiet", "deps")

    def run(self, *command: str | Path) -> int:
        """Run a command in the demo's project; return the most memory that it had, in MB."""
        return peak_of_command(
            [*command, *self.target], CHECKOUT / "demo", self.environment, self.folder / "output"
        )

    def load(self, lake: Path) -> None:
        """Load what is new in the lake."""
        self.run(BIN / "synctrail", "load", lake)

    def build(self) -> Build:
        """Build what is new in staging."""
        begun = time.perf_counter()
        peak = self.run(
            BIN / "dbt", "--quiet", "build", "--resource-type", "model", "--resource-type", "seed",
            "--vars", json.dumps(AS_OF),
            "--target-path", self.folder / "target", "--log-path", self.folder / "logs",
        )  # fmt: skip
        wall_seconds = time.perf_counter() - begun
        results = json.loads((self.folder / "target" / "run_results.json").read_text())
        models = {
            result["unique_id"].rpartition(".")[2]: result["execution_time"] for result in results["results"]
        }
        return Build(results["elapsed_time"], models, wall_seconds, peak)


def measure(warehouse: Warehouse, lake: Path, rows: int, runs: int, more_rows: int) -> tuple[Build, Build]:
    """Build a lake of ``rows`` attempts over ``runs`` runs, and then what one run of ``more_rows`` adds."""
    for number in range(runs):
        write_run(lake, number % SYNCS, number // SYNCS, rows // runs)
    warehouse.load(lake)
    full = warehouse.build()
    print(f"{rows:,} attempts over {runs} runs: built in {full.seconds:.1f} s", flush=True)
    write_run(lake, 0, runs, more_rows)
    warehouse.load(lake)
    more = warehouse.build()
    print(f"{more_rows:,} more: built in {more.seconds:.1f} s", flush=True)
    return full, more


def show_models(full: Build, more: Build, more_small: Build) -> None:
    """Print the seconds of each model that takes any."""
    table = Table("model", "full build", "one run more", "the same, a tenth of the history")
    for name, seconds in sorted(full.models.items(), key=lambda item: -item[1]):
        if seconds >= 0.5 or more.models[name] >= 0.2:
            table.add_row(name, *(f"{build.models[name]:.2f} s" for build in (full, more, more_small)))
    Console(width=140).print(table)


def main() -> None:
    """Measure and print."""
    parser = options_with_work(__doc__)
    parser.add_argument("--warehouse", choices=["duckdb", "spark"], default="duckdb")
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--memory", default="4g", help="of Spark's driver")
    options = parser.parse_args()
    name, rows, runs, more_rows = options.warehouse, options.rows, options.runs, options.rows // 100
    with folder_in(options.work) as folder:
        small_warehouse = Warehouse(name, folder / "small", options.memory)
        warehouse = Warehouse(name, folder / "whole", options.memory)
        _, more_small = measure(small_warehouse, folder / "small-lake", rows // 10, runs // 10, more_rows)
        full, more = measure(warehouse, folder / "lake", rows, runs, more_rows)
    show_models(full, more, more_small)
    show(
        [
            Figure(
                f"full build of {rows:,} attempts, {runs} runs",
                f"{full.seconds:.1f} s",
                f"{FULL_MINUTES[name]} minutes",
                f"{full.seconds / 60 / FULL_MINUTES[name]:.2f}",
                "1",
            ),
            Figure(
                f"build after one more run of {more_rows:,}",
                f"{more.seconds:.1f} s",
                f"full build: {full.seconds:.1f} s",
                f"{more.seconds / full.seconds:.2f}",
                f"{MORE_LIMIT[name]:.2f}",
            ),
            Figure(
                "the same",
                f"{more.seconds:.1f} s",
                f"with a tenth of the history: {more_small.seconds:.1f} s",
                f"{more.seconds / more_small.seconds:.2f}",
                f"{HISTORY_LIMIT}",
            ),
            Figure("memory of the full build", f"{full.mb:,} MB", FULL_MB.get(name, "")),
            Figure("with dbt's start and parsing", f"{full.wall_seconds:.0f} s", ""),
        ]
    )


if __name__ == "__main__":
    main()
