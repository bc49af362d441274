"""A sample lake: what Census would have written for a few companies, with all that makes real lakes hard."""

from __future__ import annotations

import datetime as dt
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from synctrail.errors import UsageError
from synctrail.sample_lake.catalog import LAST_RUN, ORGANIZATIONS
from synctrail.sample_lake.fact_files import write_facts, write_files_that_are_no_data, write_run_metadata
from synctrail.sample_lake.history import History
from synctrail.sample_lake.record_files import set_modified, write_records
from synctrail.sample_lake.schedule import LEAST_ROWS_PER_RUN, LEAST_RUNS, Run, plan_runs

__all__ = ["LEAST_ROWS", "SampleLake", "SampleSync", "default_runs", "write_sample_lake"]

LEAST_ROWS = 2_000

_MOST_DEFAULT_RUNS = 400
_DEFAULT_ROWS_PER_RUN = 150
# Census speaks of batches of 10,000 to 100,000 records.
_MOST_DEFAULT_ROWS_PER_FILE = 50_000

_MARKER = "_synctrail_sample_lake.json"
_TOP_FOLDERS = ("sync_tracking_datasets", "metadata", "sync-unloads")


@dataclass(frozen=True)
class SampleSync:
    """What was written of one sync."""

    sync_id: int
    source: str
    destination: str
    runs: int
    rows: int
    last_run_at: dt.datetime


@dataclass(frozen=True)
class SampleLake:
    """What was written."""

    root: Path
    rows: int
    runs: int
    record_files: int
    syncs: tuple[SampleSync, ...]


def default_runs(rows: int) -> int:
    """Return the number of runs that suits a lake of so many rows."""
    return min(_MOST_DEFAULT_RUNS, max(LEAST_RUNS, rows // _DEFAULT_ROWS_PER_RUN))


def write_sample_lake(
    root: Path,
    *,
    rows: int,
    seed: int = 0,
    runs: int | None = None,
    rows_per_file: int | None = None,
    overwrite: bool = False,
    progress: Callable[[int], None] | None = None,
) -> SampleLake:
    """Write a sample lake: the same bytes and modification times for the same arguments.

    Memory grows with the number of records (people, accounts), not with that of rows.

    Args:
        root: a folder that is empty or does not exist yet.
        rows: of all record files together.
        seed: of the random numbers, 0 or more.
        runs: of all syncs together.
        rows_per_file: at most so many rows lie in one record file.
        overwrite: replace what an earlier call has written to ``root``.
        progress: is called with the number of rows of each record file that is written.

    Raises:
        UsageError: the arguments are too small for what a sample lake holds, or ``root`` is not empty.

    """
    runs = default_runs(rows) if runs is None else runs
    if rows_per_file is None:
        # Most runs then are of one batch, as at Census, and the largest of several.
        rows_per_file = min(_MOST_DEFAULT_ROWS_PER_FILE, max(1, rows // max(1, runs)))
    _check(rows, seed, runs, rows_per_file)
    _prepare(root, overwrite=overwrite)
    marker = root / _MARKER
    arguments = {"rows": rows, "seed": seed, "runs": runs, "rows_per_file": rows_per_file}
    marker.write_text(json.dumps(arguments) + "\n", encoding="utf-8")
    set_modified(marker, LAST_RUN)
    record_files = 0
    syncs = []
    for planned in plan_runs(rows, runs, seed):
        history = _history(planned[0], seed)
        for run in planned:
            for written in _write_run(root, run, history, rows_per_file):
                record_files += 1
                if progress is not None:
                    progress(written)
        write_files_that_are_no_data(root, planned[-1], _folder(root, planned[-1]))
        syncs.append(_summary(planned))
    write_facts(root)
    return SampleLake(root, rows, runs, record_files, tuple(syncs))


def _check(rows: int, seed: int, runs: int, rows_per_file: int) -> None:
    if rows < LEAST_ROWS:
        raise UsageError(f"a sample lake needs at least {LEAST_ROWS} rows: give --rows {LEAST_ROWS} or more")
    if runs < LEAST_RUNS:
        raise UsageError(f"a sample lake needs at least {LEAST_RUNS} runs: give --runs {LEAST_RUNS} or more")
    if rows < runs * LEAST_ROWS_PER_RUN:
        raise UsageError(
            f"{runs} runs need at least {runs * LEAST_ROWS_PER_RUN} rows ({LEAST_ROWS_PER_RUN} each):"
            " give more --rows or fewer --runs"
        )
    if rows_per_file < 1:
        raise UsageError("--rows-per-file must be 1 or more")
    if seed < 0:
        raise UsageError("--seed must be 0 or more")


def _prepare(root: Path, *, overwrite: bool) -> None:
    """Make an empty folder; remove nothing but what this module has written."""
    if root.exists() and not root.is_dir():
        raise UsageError(f"{root} is not a folder: name one that is empty or does not exist yet")
    if root.exists() and any(root.iterdir()):
        if not overwrite:
            raise UsageError(f"{root} is not empty: name another folder, or give --overwrite to replace it")
        if not (root / _MARKER).is_file():
            raise UsageError(
                f"{root} is not empty and was not written by sample-lake, so --overwrite leaves it alone:"
                " name another folder"
            )
        for name in _TOP_FOLDERS:
            if (root / name).exists():
                shutil.rmtree(root / name)
    root.mkdir(parents=True, exist_ok=True)


def _history(first: Run, seed: int) -> History:
    salt = seed * len(ORGANIZATIONS) + ORGANIZATIONS.index(first.sync.org)
    return History(first.sync, first.ordinal, seed, salt)


def _write_run(root: Path, run: Run, history: History, rows_per_file: int) -> list[int]:
    folder = _folder(root, run)
    folder.mkdir(parents=True)
    if run.has_metadata:
        write_run_metadata(folder, run)
    if run.rows == 0:
        return []
    attempts = history.send(run)
    return list(write_records(folder, run, attempts, history.population, rows_per_file))


def _folder(root: Path, run: Run) -> Path:
    sync = run.sync
    return root / "sync_tracking_datasets" / sync.org.org_id / str(sync.sync_id) / str(run.sync_run_id)


def _summary(planned: list[Run]) -> SampleSync:
    sync = planned[0].sync
    return SampleSync(
        sync_id=sync.sync_id,
        source=sync.source.name,
        destination=sync.destination.name,
        runs=len(planned),
        rows=sum(run.rows for run in planned),
        last_run_at=planned[-1].started_at,
    )
