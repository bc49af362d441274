"""One load at a time in a schema of Snowflake, which has no advisory locks."""

# ruff: noqa: S608 - the name of a table cannot be a parameter

from __future__ import annotations

import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from synctrail.errors import BusyError, WarehouseError
from synctrail.lock import acquire, this_process
from synctrail.warehouses.snowflake_session import EXISTS_ALREADY, LOCK_TIMED_OUT, Session, ignored

LEASE_SECONDS: Final = 120
"""How long a lock lasts whose holder is not heard of any more."""
_RENEW_SECONDS = 30
_POLL_SECONDS = 2
_LEASE_END = f"dateadd(second, {LEASE_SECONDS}, current_timestamp())"


class SnowflakeLock:
    """The one row of a table: who has the lock, and until when.

    It is taken by an update on condition that it is free, with a token, for :data:`LEASE_SECONDS`, which a
    thread renews: a killed load is in the way no longer than that. Every transaction begins with an update of
    the row on condition that the token is still there. An update locks its table until the commit, so that
    nobody takes the lock of a load that is committing, and a load whose lock was taken commits nothing
    (https://docs.snowflake.com/en/sql-reference/transactions#resource-locking).

    Snowflake ends the transaction of a session that is lost, or silent for minutes while others wait for it,
    and they are refused until then
    (https://docs.snowflake.com/en/sql-reference/transactions#aborting-transactions). What the session then
    goes on to execute is in no transaction, and is committed by itself: so each statement has a condition
    that holds within its transaction alone, by a value that the transaction has written into the row.

    Args:
        session: the session that takes the lock.
        table: the table of the lock.

    """

    def __init__(self, session: Session, table: str) -> None:
        self._session = session
        self._table = table
        self._token = ""
        # Kept by a transaction: another thread of the same session is not to write into it.
        self._in_transaction = threading.Lock()

    @property
    def token(self) -> str:
        """What this lock's holder is known by, a text that is in no other's name; empty without the lock."""
        return self._token

    def create(self) -> None:
        """Make the table with its row, in one statement: of two loads that are the first, one makes it."""
        with ignored(EXISTS_ALREADY):
            self._session.execute(
                f"create table {self._table} as select cast(null as varchar) as token,"
                " cast(null as varchar) as holder, cast(null as timestamp_tz) as held_until,"
                " cast(null as varchar) as writing"
            )

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
            self._session.attempt(
                f"update {self._table} set token = null, holder = null, held_until = null"
                " where token = %(token)s",
                {"token": self._token},
            )
            self._token = ""

    @contextmanager
    def transaction(self) -> Iterator[str]:
        """Begin a transaction in which nobody else writes, and commit it at the end of the block.

        It gives the condition that every statement of the block must have, so that none is executed outside.

        Raises:
            BusyError: somebody else has the lock by now.
            WarehouseError: Snowflake has ended the transaction.

        """
        with self._in_transaction:
            self._session.execute("begin transaction")
            try:
                writing = secrets.token_hex(8)
                if not self._session.execute(*self._renewal(writing)):
                    raise BusyError(
                        f"another load has taken over ({self._holder()}), since this one was not heard of for"
                        f" {LEASE_SECONDS} seconds; nothing of it was kept: run it again"
                    )
                row = f"select 1 from {self._table} where writing = '{writing}'"
                try:
                    yield f"exists ({row})"
                    self._session.execute("commit")
                except WarehouseError:
                    # It may be but a consequence.
                    self._check(row)
                    raise
                self._check(row)
            except BaseException:
                self._session.attempt("rollback")
                raise

    def _try(self) -> str | None:
        # Asked for first: to read does not wait for a transaction, as to update does.
        held = f"select token from {self._table} where held_until >= current_timestamp()"
        if self._session.query(held):
            return None
        token, taken = secrets.token_hex(8), 0
        with ignored(LOCK_TIMED_OUT):
            taken = self._session.execute(
                f"update {self._table} set token = %(token)s, holder = %(holder)s, held_until = {_LEASE_END}"
                " where held_until is null or held_until < current_timestamp()",
                {"token": token, "holder": this_process()},
            )
        return token if taken else None

    def _holder(self) -> str:
        found = self._session.query(f"select holder from {self._table} where holder is not null")
        return str(found[0][0]) if found else "another process"

    def _renewal(self, writing: str = "") -> tuple[str, dict[str, str]]:
        sql = (
            f"update {self._table} set held_until = {_LEASE_END}, writing = %(writing)s"
            " where token = %(token)s"
        )
        return sql, {"token": self._token, "writing": writing}

    def _check(self, row: str) -> None:
        if not self._session.query(row):
            raise WarehouseError(
                "Snowflake has ended the transaction, which was silent for too long; what it was to write is"
                " kept whole or not at all: run the command again"
            )

    def _renew_until(self, ended: threading.Event) -> None:
        """Renew the lock while its holder is at work; where that fails, the next transaction tells."""
        while not ended.wait(_RENEW_SECONDS):
            with self._in_transaction:
                self._session.attempt(*self._renewal())
