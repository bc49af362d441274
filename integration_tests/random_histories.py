"""Random histories of syncs: few records and many odd events, so that every order of them comes up."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from staging_rows import EPOCH, Attempt, Run, at

_STATUSES = [
    *["succeeded"] * 10, *["rejected"] * 4, "DUPLICATE", "null", "NULL ", None, "skipped", "Succeeded",
]  # fmt: skip
_OPERATIONS: dict[str, list[str | None]] = {
    "plain": [*["upsert"] * 6, "delete", "delete", " Update", "create", "REMOVED", None],
    "mirror": [*["mirror"] * 8, "delete", "upsert"],
    "append": [*["append"] * 5, "upsert", "delete"],
}
Delivery = tuple[list[Attempt], list[Run]]


def _payload(rng: random.Random) -> str | None:
    record = {"plan": rng.choice("ab"), "score": rng.choice([1, 1.0, 2]), "city": rng.choice(["Köln", None])}
    return rng.choice([None, "not json", "[1]", *[json.dumps(record)] * 5])


@dataclass(frozen=True, kw_only=True)
class Shape:
    """How large the syncs of a history are at most, and the share of their files that come again."""

    runs: int
    rows: int
    comes_again: float


USUAL = Shape(runs=7, rows=5, comes_again=0.1)
# Where a file comes again, the last row of its kind in the sync may be gone.
SMALL = Shape(runs=3, rows=2, comes_again=0.6)


def _attempts_of_run(
    rng: random.Random, kind: str, sync_id: str, run_id: str, minute: int, rows: int
) -> list[Attempt]:
    untimed = rng.random() < 0.1
    attempts = []
    for batch in range(rng.choice([0, 1, 1, 2])):
        for source_row in range(rng.randrange(1, rows + 1)):
            started = None if untimed or rng.random() < 0.1 else at(minute + rng.choice([0, 0, 1]))
            attempts.append(
                Attempt(
                    log_id=f"{sync_id}-{run_id}-{batch}-{source_row}",
                    sync_id=sync_id,
                    sync_run_id=run_id,
                    record_identifier=rng.choice(["a", "b", "c", "d", "e", "E", " e", "ü", None, ""]),
                    record_payload=_payload(rng),
                    operation=rng.choice(_OPERATIONS[kind]),
                    status=rng.choice(_STATUSES),
                    status_message=rng.choice([None, "", "INVALID_EMAIL: x"]),
                    batch_started_at=started,
                    batch_completed_at=rng.choice([None, at(minute + 2)]),
                    batch_number=rng.choice([batch, None]) if batch == 0 else batch,
                    source_row=source_row,
                    file_modified_at=at(minute + 3),
                )
            )
    return attempts


def _in_folder(folder: Run, attempts: list[Attempt]) -> list[Attempt]:
    """Return the rows of a file as a newer file in another run's folder holds them."""
    return [
        replace(
            attempt,
            sync_id=folder.sync_id,
            sync_run_id=folder.sync_run_id,
            batch_number=9,
            file_modified_at=attempt.file_modified_at + timedelta(minutes=1),
        )
        for attempt in attempts
    ]


def random_deliveries(seed: int, *, syncs: int, loads: int, shape: Shape = USUAL) -> list[Delivery]:
    """Return a history as it arrives: files and run folders dealt to loads at random, some of them twice.

    A file that comes again has other rows than before; the rows of a file may be found anew in the folder of
    another run; metadata may come before or after its run's files, or without them.
    """
    rng = random.Random(seed)
    deliveries: list[Delivery] = [([], []) for _ in range(loads)]
    folders: list[tuple[Run, int]] = []
    for number in range(syncs):
        kind = rng.choice(["plain", "plain", "mirror", "append"])
        for run in range(rng.randrange(1, shape.runs + 1)):
            sync_id, run_id, minute = str(number), str(98 + run), 60 * rng.randrange(8)
            start = rng.choice([None, at(minute), at(minute + 30)])
            folder = Run(sync_id=sync_id, sync_run_id=run_id, sync_run_started_at=start)
            first = rng.randrange(loads)
            folders.append((folder, first))
            deliveries[first][1].append(replace(folder, has_metadata=rng.random() < 0.7))
            if rng.random() < 0.3:
                deliveries[rng.randrange(first, loads)][1].append(folder)
            files: dict[str, list[Attempt]] = {}
            for attempt in _attempts_of_run(rng, kind, sync_id, run_id, minute, shape.rows):
                files.setdefault(attempt.source_file, []).append(attempt)
            for attempts in files.values():
                arrival = rng.randrange(loads)
                deliveries[arrival][0].extend(attempts)
                if rng.random() < shape.comes_again and arrival + 1 < loads:
                    identifiers = [attempt.record_identifier for attempt in attempts[1:]] + ["b"]
                    kept = [
                        replace(attempt, status="succeeded", record_identifier=identifier)
                        for attempt, identifier in zip(attempts, identifiers, strict=True)
                        if rng.random() < 0.6
                    ]
                    deliveries[rng.randrange(arrival + 1, loads)][0].extend(kept)
                if rng.random() < 0.1:
                    other_folder, known = rng.choice(folders)
                    moved = rng.randrange(max(first, known), loads)
                    deliveries[moved][0].extend(_in_folder(other_folder, attempts))
    return deliveries


def spread_over_days(delivery: Delivery) -> Delivery:
    """Stretch the hours of a random history to days, so that dates have gaps and some runs take long."""

    def later(moment: datetime | None) -> datetime | None:
        return moment and EPOCH + (moment - EPOCH) * 20

    attempts, runs = delivery
    return (
        [
            replace(
                attempt,
                batch_started_at=later(attempt.batch_started_at),
                batch_completed_at=later(attempt.batch_completed_at),
                file_modified_at=later(attempt.file_modified_at) or EPOCH,
            )
            for attempt in attempts
        ],
        [replace(run, sync_run_started_at=later(run.sync_run_started_at)) for run in runs],
    )
