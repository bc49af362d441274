"""One load at a time, by a row that is taken for a time: for warehouses that have no advisory locks."""

from __future__ import annotations

import secrets
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final, Generic, Protocol, TypeVar

from synctrail.errors import BusyError
from synctrail.lock import acquire

LEASE_SECONDS: Final = 120
"""How long a lock lasts whose holder is not heard of any more."""
_RENEW_SECONDS = 30
_POLL_SECONDS = 2


class LeaseSession(Protocol):
    """What a lock needs of the session that it is taken by."""

    def connected(self) -> AbstractContextManager[None]:
        """See to it that there is a connection, and tell of errors within the block."""
        ...


_Session = TypeVar("_Session", bound=LeaseSession)


class Lease(ABC, Generic[_Session]):
    """The one row of a table: who has the lock, and until when.

    It is taken by an update on condition that it is free, with a token, for :data:`LEASE_SECONDS`, which a
    thread renews: a killed load is in the way no longer than that.

    Args:
        session: the session that takes the lock.
        table: the table of the lock, as statements name it.

    """

    def __init__(self, session: _Session, table: str) -> None:
        self._session = session
        self._table = table
        self._token = ""
        # Kept by a transaction: no renewal is to come into it.
        self._in_transaction = threading.Lock()

    @property
    def token(self) -> str:
        """What this lock's holder is known by, a text that is in no other's name; empty without the lock."""
        return self._token

    @contextmanager
    def held(self, wait_seconds: float) -> Iterator[None]:
        """Hold the lock for the time of the block.

        Raises:
            BusyError: somebody else still holds it after ``wait_seconds``.

        """
        with self._session.connected():
            self._token = acquire(self._try, self._holder, wait_seconds, poll_seconds=_POLL_SECONDS)
        ended = threading.Event()
        renewal = threading.Thread(target=self._renew_until, args=(ended,), daemon=True)
        renewal.start()
        try:
            yield
        finally:
            ended.set()
            renewal.join()
            self._release()
            self._token = ""

    @abstractmethod
    def _is_held(self) -> bool:
        """Tell whether somebody has the lock, without waiting for anybody's transaction."""

    @abstractmethod
    def _take(self, token: str) -> bool:
        """Write a token into the row on condition that it is free; tell whether it was."""

    @abstractmethod
    def _renew(self) -> None:
        """Begin the lease anew, if the token is still there; that it fails is no matter."""

    @abstractmethod
    def _release(self) -> None:
        """Free the row, if the token is still there; that it fails is no matter."""

    @abstractmethod
    def _holders(self) -> list[str]:
        """Return who has the lock; none if nobody has."""

    def _try(self) -> str | None:
        if self._is_held():
            return None
        token = secrets.token_hex(8)
        return token if self._take(token) else None

    def _holder(self) -> str:
        return next(iter(self._holders()), "another process")

    def _lost(self) -> BusyError:
        """Return the error of a load that finds another's token where its own was."""
        return BusyError(
            f"another load has taken over ({self._holder()}), since this one was not heard of for"
            f" {LEASE_SECONDS} seconds; nothing of it was kept: run it again"
        )

    def _renew_until(self, ended: threading.Event) -> None:
        """Renew the lock while its holder is at work; where that fails, the next transaction tells."""
        while not ended.wait(_RENEW_SECONDS):
            with self._in_transaction:
                self._renew()
