"""Payloads, identifiers and e-mail addresses as text, for many records at once."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from synctrail.sample_lake.catalog import Key, Shape
from synctrail.sample_lake.population import Ints, Population

_FIRST_NAMES = (
    "Anna", "José", "Zoë", "Łukasz", "美咲", "Søren", "Amélie", "Olga", "Nguyễn", "Ben", "Fatima", "Renée",
    "Jürgen", "Иван", "Priya", "Chloé",
)  # fmt: skip
_LAST_NAMES = (
    "Müller", "O'Neil", "García", "Kowalska", "渡辺", "Smith", "d'Arc", "Ångström", 'Ray "Sugar"', "Петрова",
    "van der Berg", "İnönü", "Okafor", "Li", "Núñez", "Back\\slash",
)  # fmt: skip
_LOGINS = (
    "anna.mueller", "jose.garcia", "zoe", "lukasz.k", "misaki", "soren", "amelie+news", "olga_p", "nguyen",
    "ben", "fatima.o", "renee", "j.angstrom", "ivan", "priya.li", "chloe",
)  # fmt: skip
_HOSTS = ("example.com", "example.org", "mail.example.net", "kunden.example.de")
_PLANS = ("free", "basic", "pro", "enterprise")
_PLACES = (
    ("Berlin", "DE"), ("Köln", "DE"), ("São Paulo", "BR"), ("Kraków", "PL"), ("東京", "JP"), ("Austin", "US"),
    ("Québec", "CA"), ("Zürich", "CH"), ("Málaga", "ES"), ("Oslo", "NO"), ("Leeds", "GB"), ("Hà Nội", "VN"),
)  # fmt: skip
_TAGS = (
    (),
    ("vip",),
    ("newsletter", "beta"),
    ("b2b", "🎉 launch"),
    ("returns",),
    ("vip", "b2b", "churn risk"),
)
_COMPANIES = ("Ærø Boats", "Nordwind GmbH", "Café Lumière", "Acme, Inc.", "株式会社さくら", "Blue & Sons")
_INDUSTRIES = ("Retail", "Software", "Health Care", "Logistics", "Food & Beverage")
_EVENTS = ("card_activated", "plan_upgraded", "checkout", "invoice_paid")
_CURRENCIES = ("EUR", "USD", "GBP", "BRL")
_CUT_OFF_AT = 30
_MOMENTS = 64
_NULLS_ABSENT_TURN = 2
_ASCII_TURN = 3


@dataclass(frozen=True)
class Spelling:
    """How one run writes what another writes in other words: each of these is no change of a value.

    Args:
        moment: when the rows were read from the source; fields that tick are of this time.
        keys_turned: the order of a payload's keys.
        whole_as_float: 3 is written 3.0, as after a detour through a data frame.
        nulls_absent: a key without a value is left out.
        ascii_only: other characters are escaped.
        other_case: industries are in lower case with a blank behind, as from another table.
        binary_floats: scores carry the noise of binary fractions.

    """

    moment: dt.datetime
    keys_turned: bool
    whole_as_float: bool
    nulls_absent: bool
    ascii_only: bool
    other_case: bool
    binary_floats: bool


def spelling(number: int, moment: dt.datetime) -> Spelling:
    """Return how the run of this number within its sync spells its payloads."""
    return Spelling(
        moment=moment,
        keys_turned=number % 2 == 1,
        whole_as_float=number % 3 == 1,
        nulls_absent=number % 4 == _NULLS_ABSENT_TURN,
        ascii_only=number % 5 == _ASCII_TURN,
        other_case=number % 2 == 0,
        binary_floats=number % 2 == 1,
    )


def identifier_texts(key: Key, population: Population, records: Ints) -> pa.Array:
    """Return the records' values of the sync key."""
    numbers = population.numbers(records)
    if key is Key.EMAIL:
        return email_texts(population, records)
    if key is Key.ACCOUNT_ID:
        return pa.array(1_000_000 + numbers).cast(pa.string())
    digits = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), 8, "0")
    if key is Key.ACCOUNT_CODE:
        # Some codes are kept with a blank and in lower case: an identifier is taken as it is.
        heads = pa.array(["ACC ", "acc-", "ACC-"])
        return _text(_pick(heads, (numbers % 40).clip(0, 2)), digits)
    return _text("usr_" if key is Key.USER_ID else "evt_", digits)


def email_texts(population: Population, records: Ints) -> pa.Array:
    """Return the records' e-mail addresses, each of one record only."""
    traits = population.traits(records)
    logins, hosts = pa.array(_LOGINS), pa.array(_HOSTS)
    numbers = pa.array(population.numbers(records)).cast(pa.string())
    return _text(_pick(logins, traits >> np.uint64(20)), numbers, "@", _pick(hosts, traits >> np.uint64(30)))


def payload_texts(
    shape: Shape,
    key: Key,
    population: Population,
    records: Ints,
    *,
    style: Spelling,
    first_row: int,
) -> pa.Array:
    """Return each record's payload, a JSON object as text; ``first_row`` is the first's place in its run."""
    return _Writer(population, records, style, first_row).payloads(shape, key)


def key_only_texts(key: Key, identifiers: pa.Array) -> pa.Array:
    """Return payloads that hold nothing but the sync key."""
    quote = "" if key is Key.ACCOUNT_ID else '"'
    return _text('{"', key.value, '":', quote, identifiers, quote, "}")


def without_key(key: Key, payload: str, value: str | None) -> str:
    """Return a payload in which the sync key is null or blank."""
    return json.dumps({**json.loads(payload), key.value: value}, ensure_ascii=False, separators=(",", ":"))


def broken(payload: str) -> str:
    """Return a payload that was cut off, and so is no JSON."""
    return payload[:_CUT_OFF_AT]


def payload_schema(shape: Shape, key: Key) -> dict[str, str]:
    """Return the JSON type of each field, as a run's metadata tells it."""
    kinds = _SCHEMAS[shape]
    return {key.value: "number" if key is Key.ACCOUNT_ID else "string", **kinds}


_SCHEMAS = {
    Shape.PERSON: {
        "email": "string",
        "first_name": "string",
        "last_name": "string",
        "plan": "string",
        "address": "object",
        "lifetime_orders": "number",
        "tags": "array",
        "phone": "string",
        "opted_in": "boolean",
        "last_seen_at": "string",
        "updated_at": "string",
        "row_number": "number",
    },
    Shape.ACCOUNT: {
        "name": "string",
        "plan": "string",
        "seats": "number",
        "mrr": "number",
        "industry": "string",
        "health_score": "number",
        "owner": "object",
        "billing_city": "string",
        "closed_at": "string",
        "updated_at": "string",
        "row_number": "number",
    },
    Shape.EVENT: {
        "event": "string",
        "user_id": "string",
        "occurred_at": "string",
        "value": "number",
        "currency": "string",
        "properties": "object",
        "gclid": "string",
    },
}


class _Writer:
    """Writes fields of some records as JSON text."""

    def __init__(self, population: Population, records: Ints, style: Spelling, first_row: int) -> None:
        self._population = population
        self._records = records
        self._traits = population.traits(records)
        self._style = style
        self._first_row = first_row
        self._dump = _dumper(ascii_only=style.ascii_only)

    def payloads(self, shape: Shape, key: Key) -> pa.Array:
        """Return the payloads."""
        write = {Shape.PERSON: self._person, Shape.ACCOUNT: self._account, Shape.EVENT: self._event}[shape]
        fields = write()
        fields.pop(key.value, None)
        names = list(fields)
        if self._style.keys_turned:
            names = [*reversed(names[:-3]), *names[-3:]]
        identifiers = identifier_texts(key, self._population, self._records)
        quote = "" if key is Key.ACCOUNT_ID else '"'
        parts: list[pa.Array | str] = ['{"', key.value, '":', quote, identifiers, quote]
        for name in names:
            parts += self._member(name, fields[name])
        return _text(*parts, "}")

    def _member(self, name: str, values: pa.Array | str) -> list[pa.Array | str]:
        head = f',"{name}":'
        if isinstance(values, str) or values.null_count == 0:
            return [head, values]
        if self._style.nulls_absent:
            return [pc.fill_null(_text(head, values), "")]
        return [head, pc.fill_null(values, "null")]

    def _person(self) -> dict[str, pa.Array | str]:
        population, records = self._population, self._records
        phones = _text('"+49', pa.array((self._bits(24) % 10**9).astype(np.int64)).cast(pa.string()), '"')
        has_no_phone = pa.array(self._bits(5) % 4 == 0)
        return {
            "email": _text('"', email_texts(population, records), '"'),
            "first_name": self._one_of(_FIRST_NAMES, self._bits(20)),
            "last_name": self._one_of(_LAST_NAMES, self._bits(40)),
            "plan": self._plan(),
            "address": self._one_of(
                [{"city": city, "country": country} for city, country in _PLACES], population.city[records]
            ),
            "lifetime_orders": self._whole(population.orders[records]),
            "tags": self._one_of(_TAGS, self._bits(44)),
            "phone": pc.if_else(has_no_phone, pa.scalar(None, pa.string()), phones),
            "opted_in": self._one_of((True, False), self._bits(50)),
            "last_seen_at": self._ticking(),
            "updated_at": self._dump(_iso(self._style.moment)),
            "row_number": self._row_numbers(),
        }

    def _account(self) -> dict[str, pa.Array | str]:
        population, records = self._population, self._records
        orders = population.orders[records].astype(np.int64)
        cents = pc.utf8_lpad(pa.array((self._bits(33) % 100).astype(np.int64)).cast(pa.string()), 2, "0")
        score = pa.array((self._bits(12) % 90 + 10).astype(np.int64)).cast(pa.string())
        owners = [
            {"name": f"{first} {last}", "teams": [{"id": place, "lead": place % 2 == 0}]}
            for place, (first, last) in enumerate(zip(_FIRST_NAMES, _LAST_NAMES, strict=True))
        ]
        industries = [f"{name.lower()} " for name in _INDUSTRIES] if self._style.other_case else _INDUSTRIES
        names = [self._dump(name)[:-1] for name in _COMPANIES]
        numbers = pa.array(population.numbers(records)).cast(pa.string())
        is_open = pa.array(self._bits(9) % 8 != 0)
        return {
            "name": _text(_pick(pa.array(names), self._bits(20)), " ", numbers, '"'),
            "plan": self._plan(),
            "seats": self._whole(orders + 1),
            "mrr": _text(pa.array(orders * 12 + 49).cast(pa.string()), ".", cents),
            "industry": self._one_of(industries, self._bits(28)),
            "health_score": _text(score, ".2500000001" if self._style.binary_floats else ".25"),
            "owner": self._one_of(owners, self._bits(36)),
            "billing_city": self._one_of([city for city, _ in _PLACES], population.city[records]),
            "closed_at": pc.if_else(is_open, pa.scalar(None, pa.string()), '"2025-06-30"'),
            "updated_at": self._dump(_iso(self._style.moment)),
            "row_number": self._row_numbers(),
        }

    def _event(self) -> dict[str, pa.Array | str]:
        digits = pc.utf8_lpad(pa.array((self._bits(30) % 5_000).astype(np.int64)).cast(pa.string()), 8, "0")
        clicks = pa.array((self._bits(14) % 10**12).astype(np.int64)).cast(pa.string())
        properties = [
            {"device": {"os": os, "version": version}, "items": list(range(count)), "referrer": referrer}
            for os, version, count, referrer in (
                ("iOS", "18.1", 3, None),
                ("Android", 15, 0, "café.example"),
                ("web", 1.0, 1, "https://example.com/?q=a%20b"),
            )
        ]
        return {
            "event": self._one_of(_EVENTS, self._bits(8)),
            "user_id": _text('"usr_', digits, '"'),
            "occurred_at": self._ticking(),
            "value": self._whole((self._bits(18) % 500).astype(np.int64)),
            "currency": self._one_of(_CURRENCIES, self._bits(40)),
            "properties": self._one_of(properties, self._bits(48)),
            "gclid": pc.if_else(
                pa.array(self._bits(3) % 5 == 0), pa.scalar(None, pa.string()), _text('"Cj0K', clicks, '"')
            ),
        }

    def _plan(self) -> pa.Array:
        return self._one_of(_PLANS, self._population.plan[self._records])

    def _ticking(self) -> pa.Array:
        """Write times shortly before the run, others in each run."""
        moments = [
            self._style.moment - dt.timedelta(seconds=minute * 53 + self._style.moment.minute)
            for minute in range(_MOMENTS)
        ]
        return self._one_of([_iso(moment) for moment in moments], self._bits(26))

    def _whole(self, numbers: npt.NDArray[np.integer]) -> pa.Array:
        texts = pa.array(numbers).cast(pa.string())
        return _text(texts, ".0") if self._style.whole_as_float else texts

    def _one_of(self, values: Sequence[object], places: npt.NDArray[np.integer]) -> pa.Array:
        return _pick(pa.array([self._dump(value) for value in values]), places)

    def _row_numbers(self) -> pa.Array:
        first = self._first_row + 1
        return pa.array(np.arange(first, first + len(self._records))).cast(pa.string())

    def _bits(self, shift: int) -> npt.NDArray[np.uint64]:
        return self._traits >> np.uint64(shift)


def _dumper(*, ascii_only: bool) -> Callable[[object], str]:
    return json.JSONEncoder(ensure_ascii=ascii_only, separators=(",", ":")).encode


def _text(*parts: pa.Array | str) -> pa.Array:
    return pc.binary_join_element_wise(*parts, "")


def _pick(values: pa.Array, places: npt.NDArray[np.integer]) -> pa.Array:
    return values.take(pa.array((places % len(values)).astype(np.int64)))


def _iso(moment: dt.datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
