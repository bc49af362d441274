"""A lake of many rows: all of them arrive, and the driver needs no more memory for them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
from commands import history, synctrail, write_profile
from conftest import DUCKDB_FILE, new_target
from lakes import Lake

ROWS, FILES, FILES_PER_RUN = 20_000_000, 2_000, 100
RECORD_FILE = """
copy (
    select
        md5('{number} ' || row_no) as census_sync_tracking_internal_id,
        'user-{number}-' || row_no as identifier,
        '{{"email":"' || row_no || '@example.com","plan":"' || ['free', 'pro'][1 + row_no % 2] || '"}}' as record_payload,
        'upsert' as operation,
        if(row_no % 50 = 0, 'rejected', 'succeeded') as status,
        if(row_no % 50 = 0, 'INVALID_EMAIL: ' || row_no, null) as status_message,
        timestamptz '2025-11-20 10:00:00+00' as batch_started_at,
        timestamptz '2025-11-20 10:00:30+00' as batch_ended_at
    from range({rows}) as numbers (row_no)
)
to '{file}' (format parquet)
"""  # noqa: E501 - a line of SQL
SUMMARY = """
select
    count(*),
    count(distinct {id}),
    bit_xor(hash({id}, {identifier}, record_payload, operation, status, status_message))
"""


@pytest.mark.slow
def test_twenty_million_rows(project: Path, lake: Lake, tmp_path: Path) -> None:
    for number in range(FILES):
        folder = lake.root / "sync_tracking_datasets" / "1" / "22" / str(number // FILES_PER_RUN)
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"records_updated.{number}.parquet"
        duckdb.execute(RECORD_FILE.format(number=number, rows=ROWS // FILES, file=file))
    write_profile(project, {"dev": new_target("duckdb", tmp_path, {})})
    settings = ("--conf", "spark.master=local[2]", "--conf", "spark.driver.memory=2g")
    result = synctrail(project, "load", str(lake.root), *settings, timeout=3600)
    assert result.returncode == 0, result.stderr
    told = history(result)
    assert (told["rows_loaded"], told["files_loaded"]) == (ROWS, FILES)

    names = {"id": "census_sync_tracking_internal_id", "identifier": "identifier"}
    source = f"read_parquet('{lake.root}/**/*.parquet')"
    there = duckdb.execute(f"{SUMMARY.format(**names)} from {source}").fetchone()
    with duckdb.connect(tmp_path / DUCKDB_FILE, read_only=True) as connection:
        summary = SUMMARY.format(id="log_id", identifier="record_identifier")
        arrived = connection.execute(f"{summary} from census_lake.sync_tracking_records").fetchone()
    assert arrived == there
    assert arrived is not None
    assert arrived[:2] == (ROWS, ROWS)
