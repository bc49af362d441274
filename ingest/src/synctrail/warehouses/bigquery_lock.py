"""One load at a time in a dataset of BigQuery, which has no advisory locks."""

# ruff: noqa: S608 - the name of a table cannot be a parameter

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from google.api_core.exceptions import BadRequest, Conflict

from synctrail.lock import this_process
from synctrail.warehouses.bigquery_session import Session, is_conflict
from synctrail.warehouses.lease import LEASE_SECONDS, Lease

_LEASE_END = f"timestamp_add(current_timestamp(), interval {LEASE_SECONDS} second)"

_SCRIPT = """
declare is_ours bool default false;
declare rows_erased int64 default 0;
begin transaction;
update {lock} set held_until = {lease_end} where token = '{token}';
set is_ours = exists (select 1 from {lock} where token = '{token}');
if is_ours then
{statements}end if;
commit transaction;
select is_ours, rows_erased;
"""


class BigQueryLock(Lease[Session]):
    """The lock of a dataset, in which writes are bound to it.

    All that a load writes is one script with one transaction, which begins with an update of the row on
    condition that the token is still there: without it the transaction does nothing. Who takes the lock
    updates the row too. BigQuery lets two such updates wait for each other, or cancels the transaction
    (https://cloud.google.com/bigquery/docs/transactions#transaction_concurrency): so nobody takes the lock of
    a load that is committing, and a load whose lock was taken commits nothing.

    Args:
        session: the session that takes the lock.
        table: the table of the lock.

    """

    def create(self) -> None:
        """Make the table with its row, in one statement: of two loads that are the first, one makes it."""
        with suppress(Conflict):
            self._session.query(
                f"create table if not exists {self._table} as select cast(null as string) as token,"
                " cast(null as string) as holder, cast(null as timestamp) as held_until"
            )

    def write(self, statements: Sequence[str]) -> int:
        """Execute statements in one transaction, in which nobody else writes.

        Args:
            statements: DML, or what else a script may have. ``rows_erased`` is theirs to set.

        Returns:
            What they have set ``rows_erased`` to, else 0.

        Raises:
            BusyError: somebody else has the lock by now.

        """
        with self._in_transaction:
            (found,) = self._session.query(
                _SCRIPT.format(
                    lock=self._table,
                    token=self.token,
                    lease_end=_LEASE_END,
                    statements="".join(f"{statement};\n" for statement in statements),
                )
            )
            if not found["is_ours"]:
                raise self._lost()
            return int(found["rows_erased"])

    def _is_held(self) -> bool:
        held = f"select token from {self._table} where held_until >= current_timestamp()"
        return bool(list(self._session.query(held)))

    def _take(self, token: str) -> bool:
        try:
            return bool(
                self._session.modify(
                    f"update {self._table} set token = @token, holder = @holder, held_until = {_LEASE_END}"
                    " where held_until is null or held_until < current_timestamp()",
                    {"token": token, "holder": this_process()},
                )
            )
        except BadRequest as error:
            if not is_conflict(error):
                raise
            return False

    def _renew(self) -> None:
        self._session.attempt(
            f"update {self._table} set held_until = {_LEASE_END} where token = @token", {"token": self.token}
        )

    def _release(self) -> None:
        self._session.attempt(
            f"update {self._table} set token = null, holder = null, held_until = null where token = @token",
            {"token": self.token},
        )

    def _holders(self) -> list[str]:
        found = self._session.query(f"select holder from {self._table} where holder is not null")
        return [str(row["holder"]) for row in found]
