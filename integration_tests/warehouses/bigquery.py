"""BigQuery: an emulator that starts and ends with the tests."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from google.api_core.client_options import ClientOptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import bigquery

from warehouses.bigquery_process import BigQueryProcess
from warehouses.warehouse import MODEL_SCHEMA, STAGING_SCHEMA, aware, load_by_command, staging_table

_BIGQUERY_TYPES = {
    pa.string(): "STRING",
    pa.timestamp("us", tz="UTC"): "TIMESTAMP",
    pa.timestamp("us"): "DATETIME",
    pa.int32(): "INT64",
    pa.int64(): "INT64",
}


class BigQuery:
    """A project of an emulator of its own."""

    target = "bigquery"

    def __init__(self, folder: Path) -> None:
        self._emulator = BigQueryProcess(folder)
        endpoint = f"http://127.0.0.1:{self._emulator.port}"
        os.environ["SYNCTRAIL_TEST_BIGQUERY_ENDPOINT"] = endpoint
        self._client = bigquery.Client(
            project="synctrail",
            credentials=AnonymousCredentials(),
            client_options=ClientOptions(api_endpoint=endpoint),
        )
        self.schemas = {STAGING_SCHEMA, MODEL_SCHEMA}

    def write_staging(self, tables: dict[str, list[dict[str, object]]]) -> None:
        """Make the staging tables hold exactly these rows."""
        named = {name: staging_table(name, rows) for name, rows in tables.items()}
        records = named["sync_tracking_records"]
        # As the loader names it there.
        names = {"_file_modified_at": "_source_file_modified_at"}
        named["sync_tracking_records"] = records.rename_columns(
            [names.get(n, n) for n in records.column_names]
        )
        self._write(STAGING_SCHEMA, named)

    def write_tables(self, schema: str, tables: dict[str, pa.Table]) -> None:
        """Make a vendor's schema hold exactly these tables."""
        self.schemas.add(schema)
        self._drop(schema)
        self._write(schema, tables)

    def _write(self, schema: str, tables: dict[str, pa.Table]) -> None:
        self._client.create_dataset(schema, exists_ok=True)
        for name, rows in tables.items():
            file = io.BytesIO()
            pq.write_table(rows, file)
            settings = bigquery.LoadJobConfig(
                source_format=bigquery.SourceFormat.PARQUET,
                write_disposition=bigquery.WriteDisposition.WRITE_TRUNCATE,
                schema=[
                    bigquery.SchemaField(field.name, _BIGQUERY_TYPES[field.type]) for field in rows.schema
                ],
            )
            self._client.load_table_from_file(
                file, f"{schema}.{name}", rewind=True, job_config=settings
            ).result()

    def load(self, lake: Path) -> None:
        """Load what is new in a lake, by the command."""
        load_by_command(lake, self.target)

    def query(self, sql: str) -> list[dict[str, Any]]:
        """Return the rows of a query; timestamps are aware, in UTC."""
        settings = bigquery.QueryJobConfig(default_dataset=f"{self._client.project}.{MODEL_SCHEMA}")
        rows = self._client.query(sql, job_config=settings, retry=None, job_retry=None).result()
        return [{name: aware(value) for name, value in row.items()} for row in rows]

    def reset(self) -> None:
        """Drop every table and view."""
        for schema in self.schemas:
            self._drop(schema)

    def _drop(self, schema: str) -> None:
        self._client.delete_dataset(schema, delete_contents=True, not_found_ok=True)

    def close(self) -> None:
        """Stop the emulator."""
        self._client.close()
        self._emulator.stop()
