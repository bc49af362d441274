"""What each run of a sync attempts, and how it ends: every run follows from those before it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from synctrail.sample_lake.catalog import Behavior, Sync
from synctrail.sample_lake.messages import REFUSALS
from synctrail.sample_lake.population import NEVER, Flags, Ints, Population, State
from synctrail.sample_lake.schedule import Fate, Run

Codes = npt.NDArray[np.int8]

OPERATIONS = ("upsert", "update", "create", "delete", "append", "mirror", "merge", " Upsert")
STATUSES = ("succeeded", "rejected", "queued", "DUPLICATE", "duplicate", "Duplicate", "NULL", "null", None)
NO_RECORD = -1

_SUCCEEDED, _REJECTED, _QUEUED = 0, 1, 2
_DUPLICATE_WORDS = (3, 3, 4, 5)
_MERGE, _SPACED_UPSERT = 6, 7


class Form(IntEnum):
    """What a row's payload is."""

    WHOLE = 0
    KEY_ONLY = 1
    BROKEN = 2
    ARRAY = 3
    SCALAR = 4
    ABSENT = 5
    NULL_KEY = 6
    BLANK_KEY = 7


class Refusal(IntEnum):
    """Which of the destination's messages a row has; from LASTING and PASSING on, their place is added."""

    NONE = -1
    LASTING = 0
    PASSING = 50
    OUTAGE = 100


_NULL_ROWS = ((6, Form.NULL_KEY), (8, Form.NULL_KEY), (7, Form.BLANK_KEY), (6, Form.NULL_KEY))
_ODD_FORMS = (Form.BROKEN, Form.ARRAY, Form.SCALAR, Form.ABSENT)
_ODDITIES = len(_ODD_FORMS) + 3

_NULL_RATE, _NULL_TURN = 0.003, 1
_DUPLICATE_RATE, _DUPLICATE_TURN = 0.004, 2
_RETRY_RATE, _RETRY_TURN = 0.012, 3
_TURNS = 4
_ODDITY_RATE, _ODDITY_TURN, _ODDITY_TURNS = 2e-4, 2, 3
_FAILING_SHARE, _FAILING_SHARE_OF_ALL = 0.03, 0.004
# One that is never fixed, and one that is.
_LEAST_FAILING = 2
_FIXED_PER_RUN = 0.4
_LEAVING, _JOINING, _RETURNING = 0.12, 0.13, 0.3
_MIRROR_LEAVING = 0.012
_CHANGED_OF_ALL = 0.05
_RESTLESS_WEIGHT = 0.02


@dataclass
class Attempts:
    """The rows of a run in the order of sending, one array per property, of equal lengths.

    ``again_from`` is the row with which second attempts of rejected records begin; ``removed_from`` the one
    with which removals begin, if they are sent apart.
    """

    record: Ints
    operation: Codes
    status: Codes
    refusal: Codes
    form: Codes
    again_from: int
    removed_from: int


@dataclass(frozen=True)
class _Chosen:
    """The records that a run takes on, each once."""

    retried: Ints
    removed: Ints
    added: Ints
    changed: Ints


class History:
    """One sync's course.

    Args:
        sync: whose runs are sent, in their order.
        ordinal: the sync's place among all, so that random numbers and oddities differ.
        seed: of the random numbers.
        salt: of the organization's people.

    """

    def __init__(self, sync: Sync, ordinal: int, seed: int, salt: int) -> None:
        self.population = Population(sync.first_number, salt)
        self._sync = sync
        self._ordinal = ordinal
        self._seed = seed
        self._lasting = len(REFUSALS[sync.destination.service].lasting)
        self._null_rows = ordinal
        self._oddities = ordinal
        self._duplicates = ordinal
        self._refused = 0

    def send(self, run: Run) -> Attempts:
        """Return the attempts of the next run, exactly ``run.rows``, and remember what came of them."""
        rng = np.random.default_rng([self._seed, self._ordinal, run.number])
        nulls = _some(run, _NULL_RATE, _NULL_TURN, rng)
        duplicates = _some(run, _DUPLICATE_RATE, _DUPLICATE_TURN, rng)
        again = 0 if run.fate is Fate.FAILED else _some(run, _RETRY_RATE, _RETRY_TURN, rng)
        chosen = self._choose(run, run.rows - nulls - duplicates - again, rng)
        main = self._attempt(chosen, run, rng)
        first_changed = len(main.record) - len(chosen.changed)
        plain = np.flatnonzero((main.status == _SUCCEEDED) & (main.operation != self._codes()[2]))
        plain = self._add_oddities(main, rng.permutation(plain), first_changed, run)
        retried = plain[:again]
        second = _rows(main.record[retried], main.operation[retried])
        main.status[retried] = _REJECTED
        main.refusal[retried] = Refusal.PASSING + rng.integers(0, 2, len(retried))
        repeated = rng.choice(main.record, duplicates + again - len(retried))
        parts = [main, self._null_attempts(nulls), self._duplicate_attempts(repeated)]
        return self._in_order(parts, second, rng)

    def _choose(self, run: Run, count: int, rng: np.random.Generator) -> _Chosen:
        people = self.population
        if self._sync.behavior is Behavior.MIRROR and run.fate is not Fate.FIRST:
            return self._choose_everyone(count, rng)
        retried = people.failing()[:count]
        members = people.members()
        count -= len(retried)
        nobody = members[:0]
        if run.fate is Fate.FIRST or self._sync.behavior is Behavior.APPEND:
            return _Chosen(retried, nobody, people.join(count), nobody)
        if run.fate is Fate.REPEATS_ALL:
            changed = rng.permutation(members)[:count]
            people.change(rng.permutation(changed)[: int(_CHANGED_OF_ALL * len(changed))], rng)
            return _Chosen(retried, nobody, people.join(count - len(changed)), changed)
        removed, former = nobody, nobody
        if self._sync.operations[2] is not None:
            removed = self._drawn(members, min(len(members), count, _at_least_one(_LEAVING * count)), rng)
            former = people.former()
        joining = min(count - len(removed), _at_least_one(_JOINING * count))
        staying = np.setdiff1d(members, removed, assume_unique=True)
        changed = rng.permutation(staying)[: count - len(removed) - joining]
        people.change(changed, rng)
        joining = count - len(removed) - len(changed)
        added = self._joining(former, joining, rng)
        return _Chosen(retried, removed, added, changed)

    def _choose_everyone(self, count: int, rng: np.random.Generator) -> _Chosen:
        """Choose for a run that replaces the destination: whoever leaves is simply absent from now on."""
        people = self.population
        failing, members, former = people.failing(), people.members(), people.former()
        present = np.concatenate([failing, members])
        turnover = _at_least_one(_MIRROR_LEAVING * len(present))
        left = self._drawn(present, max(turnover, len(present) + turnover - count), rng)
        people.state[left] = State.OUT
        retried = np.setdiff1d(failing, left, assume_unique=True)
        staying = np.setdiff1d(members, left, assume_unique=True)
        people.change(rng.permutation(staying)[: int(_CHANGED_OF_ALL * len(staying))], rng)
        joining = count - len(retried) - len(staying)
        return _Chosen(retried, members[:0], self._joining(former, joining, rng), staying)

    def _joining(self, former: Ints, count: int, rng: np.random.Generator) -> Ints:
        returning = self._drawn(former, min(len(former), count, _at_least_one(_RETURNING * count)), rng)
        return np.concatenate([returning, self.population.join(count - len(returning))])

    def _drawn(self, records: Ints, count: int, rng: np.random.Generator) -> Ints:
        """Draw records, the restless ones far more often than others."""
        luck = rng.random(len(records))
        luck[self.population.restless(records)] *= _RESTLESS_WEIGHT
        drawn: Ints = records[np.argsort(luck, kind="stable")[:count]]
        return drawn

    def _attempt(self, chosen: _Chosen, run: Run, rng: np.random.Generator) -> Attempts:
        people = self.population
        add, change, remove = self._codes()
        before = people.state[chosen.retried]
        operation_before = np.select(
            [before == State.ADD_FAILS, before == State.REMOVAL_FAILS], [add, remove], change
        )
        main = _rows(
            np.concatenate([chosen.retried, chosen.removed, chosen.added, chosen.changed]),
            np.concatenate(
                [
                    operation_before,
                    np.full(len(chosen.removed), remove),
                    np.full(len(chosen.added), add),
                    np.full(len(chosen.changed), change),
                ]
            ).astype(np.int8),
        )
        fresh_from = len(chosen.retried)
        failing = self._failing(main.record, fresh_from, run, rng)
        removal = main.operation == remove
        adding = np.zeros(len(removal), np.bool_)
        adding[:fresh_from] = before == State.ADD_FAILS
        added_from = fresh_from + len(chosen.removed)
        adding[added_from : added_from + len(chosen.added)] = True
        people.state[main.record] = np.select(
            [removal & failing, removal, adding & failing, failing],
            [State.REMOVAL_FAILS, State.OUT, State.ADD_FAILS, State.CHANGE_FAILS],
            State.IN,
        )
        main.status[failing] = _REJECTED
        main.refusal[failing] = (
            Refusal.OUTAGE if run.fate is Fate.FAILED else people.refusal[main.record[failing]]
        )
        if remove >= 0:
            main.form[removal] = Form.KEY_ONLY if self._sync.payload_of_deletes else Form.ABSENT
        return main

    def _failing(self, records: Ints, fresh_from: int, run: Run, rng: np.random.Generator) -> Flags:
        """Tell which attempts are rejected, and settle until when and why for those that begin to fail."""
        people = self.population
        failing = np.zeros(len(records), np.bool_)
        if run.fate is Fate.FAILED:
            fresh = records[fresh_from:]
            people.fails_until[fresh] = run.number + 1
            people.refusal[fresh] = self._next_refusals(len(fresh))
            failing[:] = True
            return failing
        failing[:fresh_from] = people.fails_until[records[:fresh_from]] > run.number
        people.change(records[:fresh_from][~failing[:fresh_from]], rng)
        still = int(failing.sum())
        share = _FAILING_SHARE if run.fate is Fate.ORDINARY else _FAILING_SHARE_OF_ALL
        wanted = max(0, max(_LEAST_FAILING, round(share * run.rows)) - still)
        steady = fresh_from + np.flatnonzero(~people.restless(records[fresh_from:]))
        begins = rng.permutation(steady)[: min(wanted, len(steady) // 4)]
        failing[begins] = True
        until = run.number + 1 + rng.geometric(_FIXED_PER_RUN, len(begins))
        never = int(np.sum(people.fails_until[records[:fresh_from]] == NEVER))
        until[: max(0, (still + len(begins) + 2) // 3 - never)] = NEVER
        people.fails_until[records[begins]] = until
        people.refusal[records[begins]] = self._next_refusals(len(begins))
        return failing

    def _next_refusals(self, count: int) -> Ints:
        """Return the destination's lasting messages in turn."""
        first, self._refused = self._refused, self._refused + count
        return Refusal.LASTING + np.arange(first, first + count) % self._lasting

    def _add_oddities(self, main: Attempts, plain: Ints, first_changed: int, run: Run) -> Ints:
        """Make a few updates odd, which harms nobody's state; return the plain rows that are left."""
        updates = plain[plain >= first_changed]
        count = int(_ODDITY_RATE * run.rows) + (run.number % _ODDITY_TURNS == _ODDITY_TURN)
        odd = updates[: min(count, len(updates) // 2)]
        for row in odd:
            kind = self._oddities % _ODDITIES
            self._oddities += 1
            if kind < len(_ODD_FORMS):
                main.form[row] = _ODD_FORMS[kind]
            elif kind == len(_ODD_FORMS):
                main.status[row] = _QUEUED
            else:
                main.operation[row] = _MERGE if kind == len(_ODD_FORMS) + 1 else _SPACED_UPSERT
        return plain[~np.isin(plain, odd)]

    def _null_attempts(self, count: int) -> Attempts:
        rows = _rows(np.full(count, NO_RECORD, np.int64), np.full(count, self._codes()[1], np.int8))
        for row in range(count):
            rows.status[row], rows.form[row] = _NULL_ROWS[self._null_rows % len(_NULL_ROWS)]
            self._null_rows += 1
        return rows

    def _duplicate_attempts(self, records: Ints) -> Attempts:
        rows = _rows(records, np.full(len(records), self._codes()[1], np.int8))
        words = (self._duplicates + np.arange(len(records))) % len(_DUPLICATE_WORDS)
        rows.status[:] = np.array(_DUPLICATE_WORDS, np.int8)[words]
        self._duplicates += len(records)
        return rows

    def _in_order(self, parts: list[Attempts], second: Attempts, rng: np.random.Generator) -> Attempts:
        first = _joined(parts)
        order = rng.permutation(len(first.record))
        removals = order[:0]
        if self._sync.deletes_apart:
            is_removal = first.operation[order] == self._codes()[2]
            order, removals = order[~is_removal], order[is_removal]
        rows = _joined([_taken(first, order), second, _taken(first, removals)])
        rows.again_from = len(order)
        rows.removed_from = len(rows.record) - len(removals)
        return rows

    def _codes(self) -> tuple[int, int, int]:
        add, change, remove = self._sync.operations
        return (
            OPERATIONS.index(add),
            OPERATIONS.index(change),
            -1 if remove is None else OPERATIONS.index(remove),
        )


def _some(run: Run, rate: float, turn: int, rng: np.random.Generator) -> int:
    """Return how many rows of a kind a run has: by its rate, and at least one if it is that kind's turn."""
    return max(int(rate * run.rows + rng.random()), int(run.number % _TURNS == turn))


def _at_least_one(exact: float) -> int:
    return max(1, round(exact))


def _rows(record: Ints, operation: Codes) -> Attempts:
    """Return attempts of whole records that succeed."""
    count = len(record)
    return Attempts(
        record=record,
        operation=operation,
        status=np.full(count, _SUCCEEDED, np.int8),
        refusal=np.full(count, Refusal.NONE, np.int8),
        form=np.full(count, Form.WHOLE, np.int8),
        again_from=count,
        removed_from=count,
    )


def _taken(rows: Attempts, order: Ints) -> Attempts:
    record = rows.record[order]
    return Attempts(
        record,
        rows.operation[order],
        rows.status[order],
        rows.refusal[order],
        rows.form[order],
        len(record),
        len(record),
    )


def _joined(parts: list[Attempts]) -> Attempts:
    record = np.concatenate([part.record for part in parts])
    return Attempts(
        record,
        np.concatenate([part.operation for part in parts]),
        np.concatenate([part.status for part in parts]),
        np.concatenate([part.refusal for part in parts]),
        np.concatenate([part.form for part in parts]),
        len(record),
        len(record),
    )
