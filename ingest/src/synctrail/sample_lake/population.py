"""The records of one sync, and what the destination and the sync know of each."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NEVER = np.iinfo(np.int32).max
PLANS = 4
CITIES = 12

_RESTLESS_ONE_IN = 50
_ALWAYS_RESTLESS = 2
_UPGRADING, _MOVING, _ORDERING = 0.15, 0.10, 0.45


class State(IntEnum):
    """Where a record stands after a run."""

    OUT = 0
    IN = 1
    ADD_FAILS = 2
    CHANGE_FAILS = 3
    REMOVAL_FAILS = 4


_FAILING = (State.ADD_FAILS, State.CHANGE_FAILS, State.REMOVAL_FAILS)


class Population:
    """All records that a sync has met, by their place here, which never changes.

    Args:
        first_number: the number of the first record; syncs whose numbers overlap share people.
        salt: the same for all syncs of an organization, so that a number is one person there.

    """

    def __init__(self, first_number: int, salt: int) -> None:
        self.first_number = first_number
        self.salt = salt
        self.state = np.zeros(0, np.int8)
        self.fails_until = np.zeros(0, np.int32)
        self.refusal = np.zeros(0, np.int8)
        self.plan = np.zeros(0, np.int8)
        self.city = np.zeros(0, np.int8)
        self.orders = np.zeros(0, np.int32)

    def numbers(self, records: Ints) -> Ints:
        """Return the records' numbers, which their identifiers are made of."""
        return records + self.first_number

    def traits(self, records: Ints) -> npt.NDArray[np.uint64]:
        """Return 64 random bits of each record, the same for ever."""
        return scramble(self.numbers(records), self.salt)

    def join(self, count: int) -> Ints:
        """Add records that nobody has seen before; they are out until they are sent."""
        known = len(self.state)
        records = np.arange(known, known + count, dtype=np.int64)
        traits = self.traits(records)
        self.state = np.append(self.state, np.full(count, State.OUT, np.int8))
        self.fails_until = np.append(self.fails_until, np.zeros(count, np.int32))
        self.refusal = np.append(self.refusal, np.zeros(count, np.int8))
        self.plan = np.append(self.plan, (traits % PLANS).astype(np.int8))
        self.city = np.append(self.city, ((traits >> np.uint64(8)) % CITIES).astype(np.int8))
        self.orders = np.append(self.orders, ((traits >> np.uint64(16)) % 40).astype(np.int32))
        return records

    def members(self) -> Ints:
        """Return the records in the destination with which nothing is wrong."""
        return np.flatnonzero(self.state == State.IN)

    def former(self) -> Ints:
        """Return the records that were in and are out."""
        return np.flatnonzero(self.state == State.OUT)

    def failing(self) -> Ints:
        """Return the records whose last attempt was rejected."""
        return np.flatnonzero(np.isin(self.state, _FAILING))

    def restless(self, records: Ints) -> Flags:
        """Tell which records come and go all the time."""
        flags: Flags = (records < _ALWAYS_RESTLESS) | (self.traits(records) % _RESTLESS_ONE_IN == 0)
        return flags

    def change(self, records: Ints, rng: np.random.Generator) -> None:
        """Change what the source says of some of the records: plan, city, number of orders."""
        luck = rng.random(len(records))
        upgraded, moved = records[luck < _UPGRADING], records[luck > 1 - _MOVING]
        self.plan[upgraded] = (self.plan[upgraded] + 1) % PLANS
        self.city[moved] = (self.city[moved] + 1 + rng.integers(0, CITIES - 1, len(moved))) % CITIES
        self.orders[records[luck < _ORDERING]] += 1


def scramble(numbers: npt.NDArray[np.integer], salt: int) -> npt.NDArray[np.uint64]:
    """Turn numbers into 64 random-looking bits each (the finalizer of splitmix64)."""
    with np.errstate(over="ignore"):
        bits = numbers.astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15) * np.uint64(salt + 1)
        bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return bits ^ (bits >> np.uint64(31))
