"""One load at a time in a schema of Snowflake, which has no advisory locks."""

# ruff: noqa: S608 - the name of a table cannot be a parameter

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

from synctrail.errors import WarehouseError
from synctrail.lock import this_process
from synctrail.warehouses.lease import LEASE_SECONDS, Lease
from synctrail.warehouses.snowflake_session import EXISTS_ALREADY, LOCK_TIMED_OUT, Session, ignored

_LEASE_END = f"dateadd(second, {LEASE_SECONDS}, current_timestamp())"


class SnowflakeLock(Lease[Session]):
    """The lock of a schema, in which writes are bound to it.

    Every transaction begins with an update of the row on condition that the token is still there. An update
    locks its table until the commit, so that nobody takes the lock of a load that is committing, and a load
    whose lock was taken commits nothing
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

    def create(self) -> None:
        """Make the table with its row, in one statement: of two loads that are the first, one makes it."""
        with ignored(EXISTS_ALREADY):
            self._session.execute(
                f"create table {self._table} as select cast(null as varchar) as token,"
                " cast(null as varchar) as holder, cast(null as timestamp_tz) as held_until,"
                " cast(null as varchar) as writing"
            )

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
                    raise self._lost()
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

    def _is_held(self) -> bool:
        # To read does not wait for a transaction, as to update does.
        held = f"select token from {self._table} where held_until >= current_timestamp()"
        return bool(self._session.query(held))

    def _take(self, token: str) -> bool:
        taken = 0
        with ignored(LOCK_TIMED_OUT):
            taken = self._session.execute(
                f"update {self._table} set token = %(token)s, holder = %(holder)s, held_until = {_LEASE_END}"
                " where held_until is null or held_until < current_timestamp()",
                {"token": token, "holder": this_process()},
            )
        return bool(taken)

    def _renew(self) -> None:
        self._session.attempt(*self._renewal())

    def _release(self) -> None:
        self._session.attempt(
            f"update {self._table} set token = null, holder = null, held_until = null"
            " where token = %(token)s",
            {"token": self._token},
        )

    def _holders(self) -> list[str]:
        found = self._session.query(f"select holder from {self._table} where holder is not null")
        return [str(holder) for (holder,) in found]

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
