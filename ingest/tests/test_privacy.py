"""Personal data: hashed and dropped payloads, and people who are forgotten."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import Loader
from lakes import record_columns
from pyspark.sql import functions as F  # noqa: N812 - as everywhere in Spark

from synctrail.errors import UsageError
from synctrail.forget import Forgetting, forget
from synctrail.privacy import SECRET_VARIABLE, Privacy, Rules, read_privacy
from synctrail.read import read_records
from synctrail.warehouses.spark import SparkWarehouse
from synctrail.warehouses.spark_tables import open_table

RUN = "1/22/333"
SECRET = {SECRET_VARIABLE: "a secret of some length"}
PATH = f"sync_tracking_datasets/{RUN}/a.0.parquet"


def treated(rules: Rules, payload: str | None, **columns: Any) -> dict[str, Any]:
    """Return the staged row of one record."""
    privacy = Privacy(rules, secret=SECRET[SECRET_VARIABLE].encode())
    (row,) = (
        privacy.treatment("22")
        .rows(  # type: ignore[union-attr]
            pa.RecordBatch.from_pylist(
                [
                    {
                        "record_identifier": "a",
                        "record_payload": payload,
                        "_extra": None,
                        "status_message": None,
                    }
                    | columns
                ],
                schema=pa.schema(
                    dict.fromkeys(
                        ("record_identifier", "record_payload", "_extra", "status_message"), pa.string()
                    )
                ),
            )
        )
        .to_pylist()
    )
    return dict(row)


def payload_of(rules: Rules, payload: Any) -> Any:
    return json.loads(treated(rules, json.dumps(payload))["record_payload"])


HASH = Rules("hash")
EMAIL = Rules(redact=frozenset({"email"}))


def test_hashed_fields_stay_comparable():
    first = payload_of(HASH, {"email": "a@x.org", "n": 1, "o": {"a": 1, "b": [2]}, "gone": None})
    second = payload_of(HASH, {"gone": None, "o": {"b": [2.0], "a": 1}, "n": 1.0, "email": "b@x.org"})
    assert all(re.fullmatch("[0-9a-f]{32}", first[name]) for name in ("email", "n", "o"))
    assert first["gone"] is None
    assert first["email"] != second["email"]
    assert (first["n"], first["o"]) == (second["n"], second["o"])
    assert list(second) == ["gone", "o", "n", "email"]
    assert payload_of(HASH, {"email": "1"})["email"] != payload_of(HASH, {"email": 1})["email"]


def test_another_secret_is_another_hash():
    row = pa.RecordBatch.from_pylist(
        [{"record_payload": '{"a":1}', "_extra": None, "status_message": None}],
        schema=pa.schema(dict.fromkeys(("record_payload", "_extra", "status_message"), pa.string())),
    )
    found = {
        Privacy(HASH, secret=secret).treatment(None).rows(row).to_pylist()[0]["record_payload"]  # type: ignore[union-attr]
        for secret in (b"one", b"two")
    }
    assert len(found) == 2
    assert "hidden" not in repr(Privacy(HASH, secret=b"hidden"))


def test_redacted_fields_at_any_depth_and_in_any_case():
    payload = {"Email": "a@x.org", "n": 12345678901234567890, "ü": [{"email": ["x"]}, "email"], "f": 0.1}
    found = payload_of(EMAIL, payload)
    assert (found["n"], found["ü"][1], found["f"]) == (12345678901234567890, "email", 0.1)
    assert found["Email"] == payload_of(HASH, payload)["Email"]
    assert re.fullmatch("[0-9a-f]{32}", found["ü"][0]["email"])


@pytest.mark.parametrize(
    "text", ["not JSON, a@x.org", "[" * 5000, '{"email": 1e999}', '{"a": NaN, "email": 1}']
)
def test_a_payload_that_is_no_json_is_hashed_whole(text):
    found = treated(EMAIL, text)["record_payload"]
    assert re.fullmatch('"[0-9a-f]{32}"|{"email":"[0-9a-f]{32}"}', found)


def test_dropped_payloads():
    row = treated(Rules("drop"), '{"email": "a@x.org"}', _extra='{"region": "EU"}')
    assert (row["record_payload"], row["_extra"], row["record_identifier"]) == (None, None, "a")
    assert treated(HASH, None)["record_payload"] is None


def test_further_columns_are_treated_as_payloads_are():
    row = treated(EMAIL, None, _extra='{"email":"a@x.org","region":"EU"}')
    extra = json.loads(row["_extra"])
    assert (extra["region"], len(extra["email"])) == ("EU", 32)


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("Email A@x.org is bad (a@x.org)", "Email <redacted> is bad (<redacted>)"),
        ("aa@x.org stays, as does a@x.organic", "aa@x.org stays, as does a@x.organic"),
        ("user 12345678: error 404", "user <redacted>: error 404"),
    ],
)
def test_messages_do_not_quote_what_is_redacted(message, told):
    payload = json.dumps({"email": ["a@x.org", 12345678, 404, "", True]})
    assert treated(EMAIL, payload, status_message=message)["status_message"] == told
    assert treated(Rules("drop"), payload, status_message=message)["status_message"] == told


def test_rules_of_the_command_line_and_of_a_file(tmp_path):
    file = tmp_path / "privacy.yml"
    file.write_text("payload: hash\nredact: [Email]\nsyncs:\n  402: {payload: keep}\n  7: {redact: [ssn]}\n")
    privacy = read_privacy(None, ["phone, name", "x"], file, SECRET)
    everywhere = {"email", "phone", "name", "x"}
    assert privacy.rules == Rules("hash", frozenset(everywhere))
    assert privacy.syncs == {
        "402": Rules("keep", frozenset(everywhere)),
        "7": Rules("hash", frozenset(everywhere | {"ssn"})),
    }
    assert read_privacy("drop", [], file, SECRET).rules.payload == "drop"
    assert read_privacy("drop", [], None, {}).rules == Rules("drop")
    assert read_privacy(None, [], None, {}).treatment("22") is None


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "is no mapping"),
        ("redakt: [a]", "privacy.yml: the key redakt is not known"),
        ("payload: encrypt", "payload is 'encrypt'; choose keep, hash, drop"),
        ("redact: email", "redact is 'email'; write a list of fields"),
        ("syncs: {402: {x: 1}}", "privacy.yml, sync 402: the key x is not known"),
        ("syncs: {402: hash}", "privacy.yml, sync 402: 'hash' is not known"),
        ("syncs: [402]", "is no mapping"),
        ("a: [", "cannot read"),
        (None, "cannot read"),
    ],
)
def test_a_file_with_other_content_is_refused(tmp_path, content, told):
    file = tmp_path / "privacy.yml"
    if content is not None:
        file.write_text(content)
    with pytest.raises(UsageError, match=told):
        read_privacy(None, [], file, SECRET)


@pytest.mark.parametrize(("secret", "told"), [("", "set the environment variable"), ("short", "too short")])
def test_hashes_need_a_secret(secret, told):
    with pytest.raises(UsageError, match=told):
        read_privacy("hash", [], None, {SECRET_VARIABLE: secret})
    with pytest.raises(UsageError, match=told):
        read_privacy(None, ["email"], None, {SECRET_VARIABLE: secret})


def test_the_outcome_counts_the_rows_that_are_kept(lake):
    content = pa.py_buffer(
        (lake.root / lake.records(RUN, "a.0.parquet", record_columns(["a", "b"]))).read_bytes()
    )
    batches = list(Privacy().apply(PATH, read_records(PATH, content)))
    assert json.loads(batches[-1].column("_outcome")[0].as_py())["row_count"] == 2


def rows_of(loader: Loader) -> set[tuple[str, str | None]]:
    return {(row["sync_id"], row["record_identifier"]) for row in loader.rows("sync_tracking_records")}


def stored_identifiers(loader: Loader) -> set[str]:
    """Return the identifiers that the warehouse's own files hold, whatever its tables show."""
    if not loader.warehouse.needs_spark:
        found = [row["record_identifier"] for row in loader.rows("sync_tracking_records")]
    else:
        schema = loader.warehouse.name.rsplit(" ", 1)[1]
        details = loader.spark.sql(f"describe table extended {schema}.synctrail_records").collect()
        location = next(row.data_type for row in details if row.col_name == "Location").removeprefix("file:")
        files = [file for file in Path(location).rglob("*.parquet") if "_delta_log" not in file.parts]
        columns = [pq.ParquetFile(file).read(["record_identifier"]).column(0) for file in files]
        found = [text for column in columns for text in column.to_pylist()]
    return {text for text in found if text is not None}


def test_the_forgotten_are_erased_and_do_not_come_back(loader, lake):
    """In every version of their files, in one sync or all, and by loads of new files and of old ones."""
    lake.records(RUN, "a.0.parquet", record_columns(["ann", "bob"]))
    loader.load(lake)
    lake.records(RUN, "a.0.parquet", record_columns(["ann", "bob", None, "it's \\ cy"]))
    lake.records("1/23/1", "a.0.parquet", record_columns(["ann", "bob"]))
    loader.load(lake, privacy=Privacy(Rules("drop")))
    assert {row["record_payload"] for row in loader.rows("sync_tracking_records")} == {None}

    # In the Spark catalog, what a file held before it changed is there, though not shown.
    rows = 2 if loader.warehouse.needs_spark else 1
    assert forget(loader.warehouse, ["bob"], ["22"]) == Forgetting(1, rows)
    assert forget(loader.warehouse, ["bob"], ["22"]) == Forgetting(1, 0)
    others = {("22", "ann"), ("22", "it's \\ cy"), ("22", None), ("23", "ann"), ("23", "bob")}
    assert rows_of(loader) == others
    assert forget(loader.warehouse, ["ann", "it's \\ cy", "nobody"]) == Forgetting(3, rows + 2)
    assert rows_of(loader) == {("22", None), ("23", "bob")}
    assert stored_identifiers(loader) == {"bob"}

    tombstones = loader.rows("forgotten_records")
    assert sorted(str(row["sync_id"]) for row in tombstones) == ["22", "None", "None", "None"]
    (salt,) = {row["salt"] for row in tombstones}
    hashes = {row["identifier_hash"] for row in tombstones}
    assert hashlib.sha256(f"{salt}nobody".encode()).hexdigest() in hashes
    assert "bob" not in repr(tombstones)

    lake.records(RUN, "a.0.parquet", record_columns(["ann", "bob", "dan", None]))
    lake.records("1/24/1", "a.0.parquet", record_columns(["ann", "bob"]))
    assert loader.load(lake).history["rows_loaded"] == 3
    assert rows_of(loader) == {("22", "dan"), ("22", None), ("23", "bob"), ("24", "bob")}
    assert stored_identifiers(loader) == {"bob", "dan"}
    assert loader.load(lake).history["files_loaded"] == 0


@pytest.mark.parametrize("warehouse_kind", ["delta", "iceberg"], indirect=True)
def test_forgetting_that_was_killed_is_completed(loader, lake, monkeypatch):
    """The rows are deleted already, but earlier versions of the table still have their files."""
    lake.records(RUN, "a.0.parquet", record_columns(["ann", "bob"]))
    loader.load(lake)
    table = open_table(loader.spark, loader.warehouse._table("synctrail_records"))
    with monkeypatch.context() as patch:
        patch.setattr(type(table), "purge", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            forget(loader.warehouse, ["bob"])
    assert rows_of(loader) == {("22", "ann")}
    assert stored_identifiers(loader) == {"ann", "bob"}
    assert forget(loader.warehouse, ["bob"]) == Forgetting(1, 0)
    assert stored_identifiers(loader) == {"ann"}


@pytest.mark.parametrize("warehouse_kind", ["delta", "iceberg"], indirect=True)
def test_forgetting_leaves_a_load_of_another_machine_alone(loader, lake, monkeypatch):
    """Where the lock cannot tell who loads, a young file without a commit may be a living load's."""
    lake.records(RUN, "a.0.parquet", record_columns(["ann", "bob"]))
    loader.load(lake)
    rows = loader.spark.table(loader.warehouse._table("synctrail_records"))
    (file,) = {row.file for row in rows.select(F.input_file_name().alias("file")).collect()}
    uncommitted = Path(urlsplit(file).path).with_name("part-of-another-load.parquet")
    pq.write_table(pa.table({"record_identifier": ["eve"]}), uncommitted)
    monkeypatch.setattr(SparkWarehouse, "_is_local", lambda _: False)
    assert forget(loader.warehouse, ["bob"]) == Forgetting(1, 1)
    assert stored_identifiers(loader) == {"ann", "eve"}

    monkeypatch.undo()
    assert forget(loader.warehouse, ["bob"]) == Forgetting(1, 0)
    assert stored_identifiers(loader) == {"ann"}


@pytest.mark.parametrize("warehouse_kind", ["iceberg"], indirect=True)
def test_metadata_of_iceberg_name_nobody(loader, lake):
    lake.records(RUN, "a.0.parquet", record_columns(["ann", "bob"]))
    loader.load(lake)
    files = loader.spark.table(f"{loader.warehouse._table('synctrail_records')}.files")
    bounds = files.select("lower_bounds", "upper_bounds").toArrow().to_pylist()
    assert bounds
    assert not any(value for row in bounds for value in row.values())
