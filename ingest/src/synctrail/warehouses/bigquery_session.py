"""A client of BigQuery's, whose errors are told in one line."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import IO, Any

import pyarrow as pa
from google.api_core import exceptions
from google.auth.exceptions import GoogleAuthError
from google.cloud import bigquery
from google.cloud.bigquery.retry import DEFAULT_RETRY
from requests.exceptions import RequestException

from synctrail.errors import BusyError, WarehouseError
from synctrail.warehouses.bigquery_target import Connection

ERRORS = (exceptions.GoogleAPIError, GoogleAuthError, RequestException)
"""What a call of the client raises."""
SHORT_RETRY = DEFAULT_RETRY.with_timeout(30)
"""For what is asked for first, or is no matter: the client's own goes on for ten minutes."""
_CONFLICTS = ("concurrent update", "could not serialize access")
_REASON_LENGTH = 300


class Session:
    """A client for all that a process does; threads may share it.

    Args:
        connection: how to connect.
        dataset: the id of the dataset, in the connection's project.

    """

    def __init__(self, connection: Connection, dataset: str) -> None:
        self._connection = connection
        self._dataset = dataset
        self._client: Any = None
        # Where the dataset is, and with it all jobs; not known before it was looked for.
        self._location: str | None = None

    @property
    def name(self) -> str:
        """The project and the dataset."""
        return f"BigQuery {self._connection.project}, dataset {self._dataset}"

    @property
    def client(self) -> Any:
        """The client, made when it is first needed."""
        if self._client is None:
            self._client = bigquery.Client(**self._connection.client)
        return self._client

    @contextmanager
    def connected(self) -> Iterator[None]:
        """Tell of errors within the block, in one line each.

        Raises:
            WarehouseError: BigQuery cannot be reached, or refuses what is asked for in the block.

        """
        try:
            yield
        except ERRORS as error:
            raise self._told(error) from error

    def find_dataset(self) -> Any:
        """Return the dataset, and from then on run jobs where it is; none if it is not there."""
        try:
            found = self.client.get_dataset(f"{self._connection.project}.{self._dataset}", retry=SHORT_RETRY)
        except exceptions.NotFound:
            return None
        self._location = found.location
        return found

    def query(self, sql: str, parameters: Mapping[str, str] | None = None) -> Any:
        """Return the rows of a query, or of the last statement of a script."""
        return self._run(sql, parameters).result()

    def modify(self, sql: str, parameters: Mapping[str, str] | None = None) -> int:
        """Execute a statement; return the number of rows that it has inserted, updated or deleted."""
        job = self._run(sql, parameters)
        job.result()
        return int(job.num_dml_affected_rows or 0)

    def attempt(self, sql: str, parameters: Mapping[str, str] | None = None) -> None:
        """Execute a statement; that it fails is no matter."""
        with suppress(*ERRORS):
            self._run(sql, parameters, retry=SHORT_RETRY, job_retry=None).result(retry=SHORT_RETRY)

    def read(self, table: str, names: Sequence[str]) -> pa.Table | None:
        """Return columns of a table, which takes no job; none if it is not there."""
        try:
            found = self.client.get_table(table, retry=SHORT_RETRY)
        except exceptions.NotFound:
            return None
        chosen = [field for field in found.schema if field.name in names]
        rows = self.client.list_rows(found, selected_fields=chosen).to_arrow(create_bqstorage_client=False)
        return rows.select(names)

    def load_parquet(self, source: IO[bytes] | str, table: str) -> None:
        """Load an open file, or what is at a URI, into an empty table; all of it, or nothing."""
        settings = bigquery.LoadJobConfig(
            source_format=bigquery.SourceFormat.PARQUET,
            create_disposition=bigquery.CreateDisposition.CREATE_NEVER,
            write_disposition=bigquery.WriteDisposition.WRITE_EMPTY,
        )
        load = self.client.load_table_from_uri
        if not isinstance(source, str):
            load = self.client.load_table_from_file
        load(source, table, location=self._location, job_config=settings).result()

    def _run(self, sql: str, parameters: Mapping[str, str] | None, **retries: Any) -> Any:
        settings = bigquery.QueryJobConfig(
            **self._connection.jobs,
            query_parameters=[
                bigquery.ScalarQueryParameter(name, "STRING", value)
                for name, value in (parameters or {}).items()
            ],
        )
        return self.client.query(sql, job_config=settings, location=self._location, **retries)

    def _told(self, error: Exception) -> WarehouseError:
        kind = BusyError if is_conflict(error) else WarehouseError
        message = next((text for applies, text in _MESSAGES if applies(error)), _REFUSED)
        return kind(message.format(name=self.name, reason=_reason(error)))


def is_conflict(error: Exception) -> bool:
    """Tell whether a statement was refused since another wrote to its table.

    Source: https://cloud.google.com/bigquery/docs/transactions#transaction_concurrency
    """
    text = str(error).lower()
    return isinstance(error, exceptions.GoogleAPICallError) and any(each in text for each in _CONFLICTS)


def _reason(error: Exception) -> str:
    """Return what BigQuery says in one line."""
    text = str(getattr(error, "message", None) or error)
    return " ".join(text.split())[:_REASON_LENGTH]


def _has_reason(*reasons: str) -> Callable[[Exception], bool]:
    def applies(error: Exception) -> bool:
        told = getattr(error, "errors", None) or ()
        return any(isinstance(each, dict) and each.get("reason") in reasons for each in told)

    return applies


def _is(*kinds: type[Exception]) -> Callable[[Exception], bool]:
    return lambda error: isinstance(error, kinds)


# The first that applies is told. Reasons: https://cloud.google.com/bigquery/docs/error-messages
_MESSAGES: tuple[tuple[Callable[[Exception], bool], str], ...] = (
    (
        _is(GoogleAuthError),
        "cannot log in to {name}: {reason}; correct the target in profiles.yml, or run: gcloud auth"
        " application-default login",
    ),
    (
        _is(RequestException, exceptions.RetryError, exceptions.ServerError),
        "cannot reach {name} ({reason}); what it was to write is kept whole or not at all: see to the"
        " network and api_endpoint, and run the command again",
    ),
    (
        is_conflict,
        "somebody else wrote to the tables of {name} at the same time, nothing of the load was kept:"
        " {reason}; run it again",
    ),
    (
        _has_reason("billingNotEnabled", "billingTierLimitExceeded", "bytesBilledLimitExceeded"),
        "{name} does not pay for the load, nothing of it was kept: {reason}; enable billing in the project,"
        " or raise maximum_bytes_billed in profiles.yml",
    ),
    (
        _has_reason("quotaExceeded", "rateLimitExceeded", "resourcesExceeded", "timeout"),
        "{name} is at a limit, nothing of the load was kept: {reason}; run it again later",
    ),
    (
        _is(exceptions.Forbidden),
        "no permission in {name}: {reason}; give who runs the load the roles BigQuery Job User in the"
        " project, and BigQuery Data Editor in the dataset or, to create it, in the project",
    ),
    (
        _is(exceptions.NotFound),
        "{name} is not there, or lacks a table: {reason}; correct project, dataset and location in"
        " profiles.yml",
    ),
)
_REFUSED = "BigQuery refused the load, nothing of it was kept: {reason}"
