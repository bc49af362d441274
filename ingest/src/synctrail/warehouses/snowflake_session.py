"""A session of Snowflake's, whose errors are told in one line."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

import snowflake.connector
from snowflake.connector import errors

from synctrail.errors import WarehouseError

DO_NOT_EXIST = (2003, 2043)
EXISTS_ALREADY = 2002
LOCK_TIMED_OUT = 625
_NO_PRIVILEGE = 3001
_NO_WAREHOUSE = 606
_NO_TRANSFER = range(253000, 254000)
# Of sessions and their tokens: the session will run no more statements.
_SESSION_IS_GONE = range(390100, 390200)

# To the connector it is the limit of a statement as well: beyond it, one that runs is cancelled.
_NETWORK_SECONDS = 6 * 3600
# https://docs.snowflake.com/en/sql-reference/parameters
_PARAMETERS = {
    "TIMEZONE": "UTC",
    "TIMESTAMP_INPUT_FORMAT": "AUTO",
    # What waits for another's transaction gives up then, and not after twelve hours.
    "LOCK_TIMEOUT": 60,
    # What a killed load has begun ends by itself.
    "ABORT_DETACHED_QUERY": True,
}
_REASON_LENGTH = 300
_LONG_LITERAL = re.compile(r"'[^']{80,}'")
# What the connector warns of is told by our own errors alone.
logging.getLogger("snowflake").addHandler(logging.NullHandler())


class Session:
    """A session for all that a process does, since each may ask its user to log in.

    Args:
        settings: what :func:`snowflake.connector.connect` takes.
        database: the database of the session.
        name: of the warehouse, for messages.

    """

    def __init__(self, settings: Mapping[str, Any], database: str, name: str) -> None:
        self._settings = settings
        self._database = database
        self._name = name
        self._connection: Any = None

    @property
    def user(self) -> str:
        """Who needs the rights: the role, else the user."""
        return str(self._settings.get("role") or self._settings.get("user") or "the user")

    @contextmanager
    def connected(self) -> Iterator[None]:
        """See to it that there is a connection.

        Raises:
            WarehouseError: it cannot be had, it is lost, or Snowflake refuses what is asked for in the block.

        """
        if self._connection is None:
            try:
                self._connection = self._connect()
            except errors.Error as error:
                raise WarehouseError(
                    f"cannot connect to {self._name}, as {self.user}: {_reason(error)}; correct the target in"
                    " profiles.yml, or see to the account"
                ) from error
        try:
            yield
        except errors.Error as error:
            raise self._told(error) from error

    def execute(self, sql: str, parameters: Mapping[str, Any] | None = None) -> int:
        """Execute a statement; return the number of rows that it has inserted, updated or deleted."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return int(cursor.rowcount or 0)

    def attempt(self, sql: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Execute a statement, if there is a connection; that it fails is no matter."""
        if self._connection is not None:
            with suppress(errors.Error):
                self.execute(sql, parameters)

    def query(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with self._connection.cursor() as cursor:
            return list(cursor.execute(sql, parameters).fetchall())

    def rows(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a command such as show, by the names of its columns."""
        with self._connection.cursor(snowflake.connector.DictCursor) as cursor:
            return list(cursor.execute(sql).fetchall())

    def _connect(self) -> Any:
        parameters = {**self._settings.get("session_parameters", {}), **_PARAMETERS}
        own = {"session_parameters": parameters, "autocommit": True, "paramstyle": "pyformat"}
        return snowflake.connector.connect(
            **{"network_timeout": _NETWORK_SECONDS, **self._settings, **own},
            database=self._database,
            application="synctrail",
        )

    def _told(self, error: errors.Error) -> WarehouseError:
        reason, number = _reason(error), error.errno or 0
        if number in _NO_TRANSFER:
            return WarehouseError(
                f"cannot put the rows to the stage, nothing of the load was kept: {reason}; see that this"
                " machine reaches the stage's storage, or give --stage with an external one"
            )
        if not isinstance(error, errors.ProgrammingError) or number in _SESSION_IS_GONE:
            lost, self._connection = self._connection, None
            with suppress(errors.Error):
                # Its transaction, if it still has one, ends with it.
                lost.close(retry=False)
            return WarehouseError(
                f"the connection to {self._name} was lost ({reason}); what it was to write is kept whole or"
                " not at all: run the command again"
            )
        if number == _NO_PRIVILEGE:
            return WarehouseError(
                f"no permission in {self._name}: {reason}; give {self.user} the right to create the schema"
                " and its tables, or to read and write those that are there"
            )
        if number == _NO_WAREHOUSE:
            return WarehouseError(
                f"{self._name} has nothing to run in: {reason}; set warehouse in profiles.yml"
            )
        return WarehouseError(f"Snowflake refused the load, nothing of it was kept: {reason}")


@contextmanager
def ignored(*numbers: int) -> Iterator[None]:
    """Leave the block without an error where Snowflake's has one of these numbers."""
    try:
        yield
    except errors.ProgrammingError as error:
        if error.errno not in numbers:
            raise


def _reason(error: errors.Error) -> str:
    """Return what Snowflake says in one line, without the values of rows that it may quote."""
    text = " ".join(str(error.raw_msg or error).split())
    return _LONG_LITERAL.sub("'…'", text)[:_REASON_LENGTH]
