"""One load at a time in a schema of Redshift, which has no advisory locks."""

# ruff: noqa: S608 - the name of a table cannot be a parameter

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import redshift_connector

from synctrail.lock import this_process
from synctrail.warehouses.lease import LEASE_SECONDS, Lease
from synctrail.warehouses.redshift_session import TIMED_OUT, Session, code_of, ignored, is_conflict

# Both in the time zone of the session, which is UTC, and without one:
# https://docs.aws.amazon.com/redshift/latest/dg/r_GETDATE.html
_NOW = "getdate()"
_LEASE_END = f"dateadd(second, {LEASE_SECONDS}, {_NOW})"


class RedshiftLock(Lease[Session]):
    """The lock of a schema, in which writes are bound to it.

    Every transaction begins with a lock of the table, so that what it sees is what the one before has left
    (https://docs.aws.amazon.com/redshift/latest/dg/r_LOCK.html), and an update of the row on condition that
    the token is still there. So nobody takes the lock of a load that is committing, and a load whose lock was
    taken commits nothing. A transaction ends with its connection.

    Meanwhile those who only look wait as well: for as long as a statement of their session may take.

    Args:
        session: the lock's alone, since a thread renews the lock while another session copies rows.
        table: the table of the lock.

    """

    @contextmanager
    def held(self, wait_seconds: float) -> Iterator[None]:
        """Hold the lock for the time of the block, by one connection."""
        with self._session.kept_open(), super().held(wait_seconds):
            yield

    def create(self, session: Session) -> None:
        """Make the table with its one row: of two loads that are the first, one makes it."""
        with session.transaction():
            session.execute(
                f"create table if not exists {self._table}"
                " (token varchar(64), holder varchar(1024), held_until timestamp)"
            )
            session.execute(f"lock {self._table}")
            session.execute(
                f"insert into {self._table} (token)"
                f" select cast(null as varchar(64)) where not exists (select 1 from {self._table})"
            )

    @contextmanager
    def transaction(self, session: Session) -> Iterator[None]:
        """Begin a transaction in which nobody else writes, and commit it at the end of the block.

        Raises:
            BusyError: somebody else has the lock by now.

        """
        with self._in_transaction:
            with session.transaction():
                session.execute(f"lock {self._table}")
                session.execute(*self._renewal())
                is_ours = bool(session.query(*self._own_row()))
                if is_ours:
                    yield
            if not is_ours:
                raise self._lost()

    def _is_held(self) -> bool:
        try:
            held = f"select token from {self._table} where held_until >= {_NOW}"
            return bool(self._session.query(held))
        except redshift_connector.Error as error:
            if code_of(error) != TIMED_OUT:
                raise
            # Somebody is in a transaction of the lock's.
            return True

    def _take(self, token: str) -> bool:
        taken = False
        try:
            with self._session.transaction():
                self._session.execute(f"lock {self._table}")
                self._session.execute(
                    f"update {self._table} set token = %s, holder = %s, held_until = {_LEASE_END}"
                    f" where held_until is null or held_until < {_NOW}",
                    [token, this_process()],
                )
                taken = bool(self._session.query(*self._own_row(token)))
        except redshift_connector.Error as error:
            if code_of(error) != TIMED_OUT and not is_conflict(error):
                raise
            return False
        return taken

    def _renew(self) -> None:
        self._session.attempt(*self._renewal())

    def _release(self) -> None:
        self._session.attempt(
            f"update {self._table} set token = null, holder = null, held_until = null where token = %s",
            [self.token],
        )

    def _holders(self) -> list[str]:
        found: list[list[str]] = []
        with ignored(TIMED_OUT):
            found = self._session.query(f"select holder from {self._table} where holder is not null")
        return [holder for (holder,) in found]

    def _renewal(self) -> tuple[str, list[str]]:
        return f"update {self._table} set held_until = {_LEASE_END} where token = %s", [self.token]

    def _own_row(self, token: str = "") -> tuple[str, list[str]]:
        return f"select token from {self._table} where token = %s", [token or self.token]
