"""Personal data kept out of staging: hashed or dropped payloads, and the rows of forgotten people left out.

All of it happens in executors, on a file's rows before they are written anywhere.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal, get_args

import pyarrow as pa
import pyarrow.compute as pc
import yaml

from synctrail.columns import dump_json, first_line
from synctrail.errors import UsageError
from synctrail.lake import parse_path
from synctrail.read import Outcome

SECRET_VARIABLE: Final = "SYNCTRAIL_SECRET"  # noqa: S105 - the variable's name, not its value
REDACTED: Final = "<redacted>"

PayloadMode = Literal["keep", "hash", "drop"]

_SHORTEST_SECRET = 16
_HASH_DIGITS = 32
# What a message may well say for other reasons: a letter, a count, an HTTP status.
_SHORTEST_TEXT = 2
_SHORTEST_NUMBER = 5


@dataclass(frozen=True)
class Rules:
    """What becomes of the payloads of a sync.

    Args:
        payload: ``keep`` them, ``hash`` the value of every field, or ``drop`` them.
        redact: names of fields to hash, at any depth, letter case aside.

    """

    payload: PayloadMode = "keep"
    redact: frozenset[str] = frozenset()

    @property
    def change_nothing(self) -> bool:
        """Whether rows stay as they are."""
        return self.payload == "keep" and not self.redact

    @property
    def need_secret(self) -> bool:
        """Whether values are hashed."""
        return self.payload == "hash" or (self.payload == "keep" and bool(self.redact))


@dataclass(frozen=True)
class Forgotten:
    """The tombstones of forgotten records.

    Args:
        salt: what stands before an identifier when it is hashed.
        hashes: SHA-256 of salt and identifier, in hexadecimal digits, by sync; of every sync under None.

    """

    salt: str = ""
    hashes: Mapping[str | None, frozenset[str]] = field(default_factory=dict)

    def of_sync(self, sync_id: str | None) -> frozenset[str]:
        """Return the hashes that count in a sync."""
        return self.hashes.get(None, frozenset()) | self.hashes.get(sync_id, frozenset())


@dataclass(frozen=True)
class Privacy:
    """The rules of every sync, the secret by which values are hashed, and who is forgotten.

    Args:
        rules: of syncs without rules of their own.
        syncs: rules of single syncs, by id.
        secret: the key of the hashes; not shown where this is printed.
        forgotten: whose rows are left out.

    """

    rules: Rules = Rules()
    syncs: Mapping[str, Rules] = field(default_factory=dict)
    secret: bytes = field(default=b"", repr=False)
    forgotten: Forgotten = Forgotten()

    def treatment(self, sync_id: str | None) -> Treatment | None:
        """Return what to do with the rows of a sync; None where nothing is to be done."""
        rules = self.syncs.get(sync_id or "", self.rules)
        forgotten = self.forgotten.of_sync(sync_id)
        if rules.change_nothing and not forgotten:
            return None
        return Treatment(rules, self.secret, self.forgotten.salt, forgotten)

    def apply(self, path: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Treat the rows of a record file as its reader yields them, the outcome's row count included."""
        named = parse_path(path)
        treatment = self.treatment(named.sync_id if named else None)
        if treatment is None:
            yield from batches
            return
        left_out = 0
        for batch in batches:
            outcome = batch.column("_outcome")
            if outcome.null_count == len(outcome):
                kept = treatment.rows(batch)
                left_out += batch.num_rows - kept.num_rows
                yield kept
            else:
                yield _with_count(batch, left_out)


NO_PRIVACY = Privacy()


@dataclass(frozen=True)
class Treatment:
    """What is done with the rows of one sync."""

    rules: Rules
    secret: bytes
    salt: str
    forgotten: frozenset[str]

    def rows(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of those who are not forgotten, with their payloads treated."""
        if self.forgotten:
            batch = batch.filter(self._is_kept(batch.column("record_identifier")))
        if self.rules.change_nothing:
            return batch
        payloads = batch.column("record_payload").to_pylist()
        extras = batch.column("_extra").to_pylist()
        messages = batch.column("status_message").to_pylist()
        seen: list[list[Any]] = [[] for _ in payloads]
        treated = {
            "record_payload": list(map(self._payload, payloads, seen)),
            "_extra": list(map(self._payload, extras, seen)),
            "status_message": list(map(_without, messages, seen)),
        }
        for name, values in treated.items():
            position = batch.schema.get_field_index(name)
            batch = batch.set_column(position, batch.schema.field(position), pa.array(values, pa.string()))
        return batch

    def _is_kept(self, identifiers: pa.Array) -> pa.Array:
        distinct = pc.unique(identifiers)
        gone = [
            text
            for text in distinct.to_pylist()
            if text is not None and identifier_hash(self.salt, text) in self.forgotten
        ]
        return pc.invert(pc.is_in(identifiers, value_set=pa.array(gone, pa.string())))

    def _payload(self, text: str | None, seen: list[Any]) -> str | None:
        """Return a payload treated; the values that are not to be seen any more are added to ``seen``."""
        if text is None:
            return None
        try:
            found = json.loads(text)
            if self.rules.payload == "keep":
                return json.dumps(
                    self._redacted(found, seen), ensure_ascii=False, separators=(",", ":"), allow_nan=False
                )
            _scalars(found, seen)
            if self.rules.payload == "drop":
                return None
            if isinstance(found, dict):
                return dump_json({key: self._hash(value) for key, value in found.items()})
            return dump_json(self._hash(found))
        except (ValueError, RecursionError):
            # Nobody can tell what is in it, so all of it goes.
            seen.append(text)
            return None if self.rules.payload == "drop" else dump_json(self._hash(text))

    def _redacted(self, value: Any, seen: list[Any]) -> Any:
        if isinstance(value, list):
            return [self._redacted(item, seen) for item in value]
        if not isinstance(value, dict):
            return value
        redacted = {}
        for key, item in value.items():
            if key.casefold() in self.rules.redact:
                _scalars(item, seen)
                redacted[key] = self._hash(item)
            else:
                redacted[key] = self._redacted(item, seen)
        return redacted

    def _hash(self, value: Any) -> str | None:
        """Return a keyed hash of a JSON value; null stays null, so that it still tells set from cleared."""
        if value is None:
            return None
        canonical = json.dumps(_canonical(value), sort_keys=True, separators=(",", ":"))
        return hmac.new(self.secret, canonical.encode(), hashlib.sha256).hexdigest()[:_HASH_DIGITS]


def identifier_hash(salt: str, identifier: str) -> str:
    """Return the hash of a forgotten record's identifier: SHA-256 of the salt and it, in hexadecimal digits.

    It has no secret key, since SQL has to find it again: who can read the salt and guesses an identifier can
    confirm the guess.
    """
    return hashlib.sha256((salt + identifier).encode()).hexdigest()


def read_privacy(
    payload: PayloadMode | None,
    redact: Iterable[str],
    file: Path | None,
    environment: Mapping[str, str] = os.environ,
) -> Privacy:
    """Return the rules that the command line and a YAML file give; the command line goes before the file.

    Args:
        payload: of syncs for which the file says nothing of their own.
        redact: names of fields, in addition to those of the file.
        file: its keys are ``payload``, ``redact`` (a list) and ``syncs``: by id, the same two again.
        environment: where the secret is looked for.

    Raises:
        UsageError: the file cannot be read or has other keys, or there is no secret though values are hashed.

    """
    content = _yaml_object(file) if file else {}
    syncs = content.pop("syncs", None) or {}
    if not isinstance(syncs, dict):
        raise UsageError(f"syncs in {file} is no mapping; write the id of a sync, a colon and its rules")
    rules = _rules(content, Rules(), str(file))
    rules = Rules(payload or rules.payload, rules.redact | _names(redact))
    own = {str(sync): _rules(given, rules, f"{file}, sync {sync}") for sync, given in syncs.items()}
    secret = environment.get(SECRET_VARIABLE, "")
    if any(each.need_secret for each in (rules, *own.values())):
        if not secret:
            raise UsageError(
                f"hashed values need a secret; set the environment variable {SECRET_VARIABLE} to a long"
                " random text, the same for every load"
            )
        if len(secret) < _SHORTEST_SECRET:
            raise UsageError(
                f"the secret in {SECRET_VARIABLE} is too short; give it {_SHORTEST_SECRET} characters or more"
            )
    return Privacy(rules, own, secret.encode())


def with_forgotten(privacy: Privacy, tombstones: pa.Table) -> Privacy:
    """Return the rules together with the tombstones of a warehouse."""
    by_sync: dict[str | None, set[str]] = {}
    for row in tombstones.to_pylist():
        by_sync.setdefault(row["sync_id"], set()).add(row["identifier_hash"])
    salt = tombstones.column("salt")[0].as_py() if tombstones.num_rows else ""
    hashes = {sync: frozenset(found) for sync, found in by_sync.items()}
    return replace(privacy, forgotten=Forgotten(salt, hashes))


def _yaml_object(file: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UsageError(f"cannot read {file}: {first_line(error)}") from error
    if not isinstance(content, dict):
        raise UsageError(f"{file} is no mapping; its keys are payload, redact and syncs")
    return content


def _rules(given: Any, default: Rules, where: str) -> Rules:
    if not isinstance(given, dict) or (others := given.keys() - {"payload", "redact"}):
        unknown = f"the key {min(map(str, others))}" if isinstance(given, dict) else f"'{given}'"
        raise UsageError(f"{where}: {unknown} is not known; the keys are payload and redact")
    payload = given.get("payload", default.payload)
    if payload not in get_args(PayloadMode):
        raise UsageError(f"{where}: payload is '{payload}'; choose {', '.join(get_args(PayloadMode))}")
    redact = given.get("redact") or []
    if not isinstance(redact, list):
        raise UsageError(f"{where}: redact is '{redact}'; write a list of fields")
    return Rules(payload, default.redact | _names(map(str, redact)))


def _names(given: Iterable[str]) -> frozenset[str]:
    names = (name.strip().casefold() for names in given for name in names.split(","))
    return frozenset(name for name in names if name)


def _scalars(value: Any, found: list[Any]) -> None:
    """Add the texts and numbers in a JSON value to a list."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            _scalars(item, found)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        found.append(value)


def _without(message: str | None, seen: list[Any]) -> str | None:
    """Return a message without values that are not to be seen: destinations quote what they refuse."""
    if not message or not seen:
        return message
    texts = {value for value in seen if isinstance(value, str) and len(value) >= _SHORTEST_TEXT}
    numbers = {str(value) for value in seen if not isinstance(value, str)}
    texts |= {number for number in numbers if len(number) >= _SHORTEST_NUMBER}
    if not texts:
        return message
    longest_first = "|".join(re.escape(text) for text in sorted(texts, key=len, reverse=True))
    return re.sub(rf"(?<!\w)(?:{longest_first})(?!\w)", REDACTED, message, flags=re.IGNORECASE)


def _canonical(value: Any) -> Any:
    """Return a JSON value so that equal values are written the same: 1.0 as 1."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_canonical(item) for item in value]
    if isinstance(value, dict):
        return {key: _canonical(item) for key, item in value.items()}
    return value


def _with_count(outcome: pa.RecordBatch, left_out: int) -> pa.RecordBatch:
    """Return a file's outcome with so many rows less."""
    position = outcome.schema.get_field_index("_outcome")
    found = Outcome.from_json(outcome.column(position)[0].as_py())
    if not left_out or found.row_count is None:
        return outcome
    counted = replace(found, row_count=found.row_count - left_out)
    return outcome.set_column(position, outcome.schema.field(position), pa.array([counted.to_json()]))
