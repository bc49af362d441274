"""A session of Redshift's, whose errors are told in one line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import redshift_connector
from botocore.exceptions import BotoCoreError, ClientError

from synctrail.errors import BusyError, WarehouseError
from synctrail.warehouses.redshift_target import Connection

# Those of a server are told by an error of the connector's, a broken network by one of Python's.
ERRORS = (redshift_connector.Error, OSError)
"""What a statement raises."""
_LOGIN_ERRORS = (*ERRORS, BotoCoreError, ClientError)

# https://www.postgresql.org/docs/current/errcodes-appendix.html, of which Redshift has what is of old.
DO_NOT_EXIST = ("42P01", "3F000")
TIMED_OUT = "57014"
_NO_PRIVILEGE = "42501"
_CONFLICT = "40001"
# https://docs.aws.amazon.com/redshift/latest/dg/c_serial_isolation.html: its number, 1023, is the message.
_CONFLICTS = (
    "serializable isolation violation",
    "conflict with concurrent transaction",
    "could not serialize",
)
# What is wrong, in the block in which Redshift tells it, with dashes and the place in its own code around it.
_IN_BLOCK = re.compile(r"^\s*(?:error|context):[ \t]*(\S.*?)\s*$", re.MULTILINE)
_REASON_LENGTH = 300


class Session:
    """A connection for the time of a block: Redshift ends one that is silent for an hour, as others do.

    https://docs.aws.amazon.com/redshift/latest/mgmt/amazon-redshift-limits.html has the time of a cluster and
    of a serverless workgroup. A load may read its lake for longer.

    Args:
        connection: how to connect.
        name: of the warehouse, for messages.
        statement_seconds: how long a statement may take, and wait for others; none for as long as it takes.

    """

    def __init__(self, connection: Connection, name: str, *, statement_seconds: int | None = None) -> None:
        self._settings = connection
        self._name = name
        self._statement_seconds = statement_seconds
        self._connection: Any = None
        self._blocks = 0

    @contextmanager
    def kept_open(self) -> Iterator[None]:
        """See to it that there is a connection, which ends with the outermost block.

        Raises:
            WarehouseError: it cannot be had.

        """
        if self._connection is None:
            self._connection = self._opened()
        self._blocks += 1
        try:
            yield
        finally:
            self._blocks -= 1
            if not self._blocks:
                self._close()

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Keep a connection open, and tell of errors within the block.

        Raises:
            WarehouseError: it cannot be had, it is lost, or Redshift refuses what is asked for in the block.

        """
        with self.kept_open():
            try:
                yield
            except ERRORS as error:
                raise self._told(error) from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Begin a transaction, and commit it at the end of the block."""
        self.execute("begin")
        try:
            yield
            self.execute("commit")
        except BaseException:
            with suppress(*ERRORS):
                self.execute("rollback")
            raise

    def execute(self, sql: str, parameters: Sequence[Any] | None = None) -> int:
        """Execute a statement; return the number of rows that it has inserted, updated or deleted."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return int(cursor.rowcount)

    def attempt(self, sql: str, parameters: Sequence[Any] | None = None) -> None:
        """Execute a statement; that it fails is no matter."""
        with suppress(WarehouseError), self.connected():
            self.execute(sql, parameters)

    def query(self, sql: str, parameters: Sequence[Any] | None = None) -> list[list[Any]]:
        """Return the rows of a query."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql, parameters)
            return list(cursor.fetchall())

    def copy(self, sql: str, place: str) -> None:
        """Execute a COPY from a place in S3.

        Raises:
            WarehouseError: Redshift refuses it, for the most part since it may not read there.

        """
        try:
            self.execute(sql)
        except redshift_connector.ProgrammingError as error:
            raise WarehouseError(
                f"Redshift cannot copy from {place}, nothing of it was kept: {_reason(error)}; see that the"
                " role of --stage-role, or the cluster's default one, may read and list the bucket, and that"
                " both are in one region"
            ) from error

    def _opened(self) -> Any:
        settings = self._settings
        try:
            connection = redshift_connector.connect(**settings.connect)
        except _LOGIN_ERRORS as error:
            raise WarehouseError(
                f"cannot connect to {self._name}, as {settings.user}: {_reason(error)}; correct the target in"
                " profiles.yml, or see to the cluster"
            ) from error
        try:
            connection.autocommit = True
            # The connector's timeout is for every answer of the server, and statements take their time.
            connection._usock.settimeout(None)
            with connection.cursor() as cursor:
                for statement in self._begin_with():
                    cursor.execute(statement)
        except ERRORS as error:
            raise self._told(error) from error
        return connection

    def _begin_with(self) -> Iterator[str]:
        yield "set timezone to 'UTC'"
        if self._statement_seconds:
            yield f"set statement_timeout to {self._statement_seconds * 1000}"
        if self._settings.role:
            yield f"set role {self._settings.role}"
        if self._settings.query_group:
            yield "set query_group to '{}'".format(str(self._settings.query_group).replace("'", "''"))

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*ERRORS):
                connection.close()

    def _told(self, error: Exception) -> WarehouseError:
        reason, code = _reason(error), code_of(error)
        if not code:
            self._close()
            return WarehouseError(
                f"the connection to {self._name} was lost ({reason}); what it was to write is kept whole or"
                " not at all: run the command again"
            )
        if code == _NO_PRIVILEGE:
            return WarehouseError(
                f"no permission in {self._name}: {reason}; give {self._settings.user} the right to create the"
                " schema and its tables, or to read and write those that are there"
            )
        if is_conflict(error):
            return BusyError(
                f"somebody else wrote to the tables of {self._name} at the same time, nothing of the load was"
                f" kept: {reason}; run it again"
            )
        return WarehouseError(f"Redshift refused the load, nothing of it was kept: {reason}")


@contextmanager
def ignored(*codes: str) -> Iterator[None]:
    """Leave the block without an error where the server's has one of these codes."""
    try:
        yield
    except redshift_connector.Error as error:
        if code_of(error) not in codes:
            raise


def is_conflict(error: Exception) -> bool:
    """Tell whether a transaction was refused since another wrote to its tables."""
    text = str(error).lower()
    return code_of(error) == _CONFLICT or any(each in text for each in _CONFLICTS)


def code_of(error: Exception) -> str:
    """Return the code that a server gave its error; none if the error is not a server's."""
    return _fields(error).get("C", "")


def _fields(error: Exception) -> dict[str, str]:
    """Return what a server says of its error, by the letters of Postgres's protocol.

    Source: https://www.postgresql.org/docs/current/protocol-error-fields.html
    """
    first = error.args[0] if error.args else None
    return first if isinstance(first, dict) else {}


def _reason(error: Exception) -> str:
    """Return what is wrong in one line, without the details in which the values of rows may stand."""
    fields = _fields(error)
    parts = [fields.get("M") or ": ".join(map(str, error.args)) or type(error).__name__]
    details = fields.get("D", "")
    parts += _IN_BLOCK.findall(details) or ([details] if parts[0].isdigit() else [])
    return " ".join(" ".join(parts).split())[:_REASON_LENGTH]
