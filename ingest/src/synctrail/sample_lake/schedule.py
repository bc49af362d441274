"""When each sync runs, and how many rows each of its runs logs."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from enum import Enum

import numpy as np

from synctrail.sample_lake.catalog import DAY, HOUR, LAST_RUN, SYNCS, WEEK, Behavior, Sync

LEAST_RUNS = sum(sync.least_runs for sync in SYNCS)
LEAST_ROWS_PER_RUN = 20

_LEAST_ROWS_OF_A_RUN = 10
# Ids pass from five digits to six: as text they are not in the order of time.
_FIRST_RUN_ID = 99_800
_RUN_ID_STEP = 7
_EMPTY_RUN_EVERY = 9
_EMPTY_RUN_FIRST = 4
_LONG_RUN_EVERY = 4
# What an ordinary run adds to the records of a sync that removes none, in ordinary runs' rows.
_GROWTH = 0.15


class Era(Enum):
    """The three layouts of record files that Census has written."""

    INTERNAL_ID = "until 2025-10"
    BARE = "2025-11"
    IDS_IN_ROWS = "since 2025-11-18"


# Source: https://docs.getcensus.com/syncs/sync-monitoring/sync-tracking, its history (columns, metadata).
_BARE_SINCE = dt.datetime(2025, 11, 1, tzinfo=dt.UTC)
_IDS_IN_ROWS_SINCE = dt.datetime(2025, 11, 18, tzinfo=dt.UTC)
METADATA_SINCE = dt.datetime(2025, 11, 4, tzinfo=dt.UTC)
_REACHED_BACK = LAST_RUN - dt.datetime(2025, 10, 8, tzinfo=dt.UTC)


class Fate(Enum):
    """What is special about a run."""

    ORDINARY = "ordinary"
    FIRST = "first"
    EMPTY = "empty"
    FAILED = "failed"
    REPEATS_ALL = "repeats all"


@dataclass(frozen=True)
class Run:
    """One run of a sync.

    ``ordinal`` is the sync's place among all, ``number`` the run's within the sync; ``rows`` are all that
    it logs.
    """

    sync: Sync
    ordinal: int
    number: int
    sync_run_id: int
    started_at: dt.datetime
    duration: dt.timedelta
    fate: Fate
    rows: int

    @property
    def era(self) -> Era:
        """Return the layout of files at the time of the run."""
        if self.started_at >= _IDS_IN_ROWS_SINCE:
            return Era.IDS_IN_ROWS
        return Era.BARE if self.started_at >= _BARE_SINCE else Era.INTERNAL_ID

    @property
    def has_metadata(self) -> bool:
        """Tell whether a metadata.json was written."""
        return self.started_at >= METADATA_SINCE

    @property
    def is_timed(self) -> bool:
        """Tell whether the run's rows say when their batch started."""
        return self.number not in self.sync.untimed_runs


@dataclass(frozen=True)
class _Slot:
    sync: Sync
    ordinal: int
    number: int
    started_at: dt.datetime
    fate: Fate
    weight: float


def plan_runs(rows: int, runs: int, seed: int) -> list[list[Run]]:
    """Return each sync's runs in their order, ``runs`` in all, with ``rows`` rows in all.

    Args:
        rows: at least ``LEAST_ROWS_PER_RUN`` for each run.
        runs: at least ``LEAST_RUNS``.
        seed: of the random numbers.

    """
    rng = np.random.default_rng([seed, len(SYNCS)])
    weights = np.array([sync.run_weight for sync in SYNCS])
    spare = _share(runs - LEAST_RUNS, weights)
    slots = [
        slot
        for ordinal, (sync, extra) in enumerate(zip(SYNCS, spare, strict=True))
        for slot in _slots(sync, ordinal, sync.least_runs + extra, rng)
    ]
    filled = [place for place, slot in enumerate(slots) if slot.fate is not Fate.EMPTY]
    shares = _share(
        rows - _LEAST_ROWS_OF_A_RUN * len(filled), np.array([slots[place].weight for place in filled])
    )
    rows_at = {place: _LEAST_ROWS_OF_A_RUN + more for place, more in zip(filled, shares, strict=True)}
    in_time = sorted(range(len(slots)), key=lambda place: (slots[place].started_at, place))
    run_id_at = {place: _FIRST_RUN_ID + _RUN_ID_STEP * rank for rank, place in enumerate(in_time)}
    planned: dict[int, list[Run]] = {sync.sync_id: [] for sync in SYNCS}
    for place, slot in enumerate(slots):
        rows_of_run = rows_at.get(place, 0)
        planned[slot.sync.sync_id].append(
            Run(
                sync=slot.sync,
                ordinal=slot.ordinal,
                number=slot.number,
                sync_run_id=run_id_at[place],
                started_at=slot.started_at,
                duration=_duration(slot, rows_of_run, rng),
                fate=slot.fate,
                rows=rows_of_run,
            )
        )
    return list(planned.values())


def _slots(sync: Sync, ordinal: int, runs: int, rng: np.random.Generator) -> list[_Slot]:
    interval = sync.interval or _reaching_back(runs)
    starts = [
        sync.last_run - (runs - 1 - number) * interval + dt.timedelta(milliseconds=int(rng.integers(45_000)))
        for number in range(runs)
    ]
    fates = [_fate(sync, number, runs, starts[number]) for number in range(runs)]
    weights = np.array([_weight(sync, number, runs, fates[number], rng) for number in range(runs)])
    weights *= sync.row_weight / weights.sum()
    return [
        _Slot(sync, ordinal, number, starts[number], fates[number], weights[number]) for number in range(runs)
    ]


def _reaching_back(runs: int) -> dt.timedelta:
    for interval in (HOUR, 6 * HOUR, DAY):
        if (runs - 1) * interval >= _REACHED_BACK:
            return interval
    return WEEK


def _fate(sync: Sync, number: int, runs: int, started_at: dt.datetime) -> Fate:
    if number == 0:
        return Fate.FIRST
    failing = {int(part * runs) for part in sync.failed_runs}
    if number in failing or number >= runs - sync.closing_failures:
        return Fate.FAILED
    if sync.repeats_all and number == runs - 1 - runs // 6:
        return Fate.REPEATS_ALL
    # Without metadata.json, a run without rows leaves no trace.
    if sync.skips_runs and number % _EMPTY_RUN_EVERY == _EMPTY_RUN_FIRST and started_at >= METADATA_SINCE:
        return Fate.EMPTY
    return Fate.ORDINARY


def _weight(sync: Sync, number: int, runs: int, fate: Fate, rng: np.random.Generator) -> float:
    """Return a run's rows relative to the sync's ordinary ones."""
    everyone = 1.0 + min(7.0, 0.15 * runs)
    if fate is Fate.EMPTY:
        return 0.0
    if sync.behavior is Behavior.MIRROR:
        return 1.0 + 0.3 * number / runs
    if sync.behavior is Behavior.CHANGES and fate is Fate.FIRST:
        return everyone
    if fate is Fate.REPEATS_ALL:
        return 1.0 + 1.1 * (everyone + _GROWTH * number)
    if fate is Fate.FAILED:
        return 0.4
    return float(rng.lognormal(0.0, 0.12))


def _duration(slot: _Slot, rows: int, rng: np.random.Generator) -> dt.timedelta:
    if rows == 0:
        return dt.timedelta(0)
    seconds = rng.uniform(20, 90) + min(rows / 250, 1_200)
    if slot.sync.is_slow:
        is_long = slot.number % _LONG_RUN_EVERY == _LONG_RUN_EVERY - 1
        seconds += rng.uniform(4_000, 6_500) if is_long else rng.uniform(1_200, 2_400)
    return dt.timedelta(milliseconds=int(seconds * 1_000))


def _share(total: int, weights: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> list[int]:
    """Split a whole number by weights, exactly, by largest remainders."""
    exact = total * weights / weights.sum()
    whole = np.floor(exact).astype(np.int64)
    order = np.argsort(whole - exact, kind="stable")
    whole[order[: total - int(whole.sum())]] += 1
    return [int(part) for part in whole]
