"""Ids of loads: they sort by time, and tell it."""

from __future__ import annotations

import datetime as dt
import secrets

_TIME = "%Y%m%dT%H%M%S"
_TIME_LENGTH = 15


def new_id(moment: dt.datetime) -> str:
    """Return the id of a load, or of another command that changes staging, begun at a moment (UTC)."""
    return f"{moment:{_TIME}%fZ}-{secrets.token_hex(4)}"


def begun_at(load_id: str) -> dt.datetime:
    """Return when a load was begun, to the second."""
    return dt.datetime.strptime(load_id[:_TIME_LENGTH], _TIME).replace(tzinfo=dt.UTC)
