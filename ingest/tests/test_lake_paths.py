"""What a path says of its file."""

from __future__ import annotations

import pytest

from synctrail.errors import LakeError
from synctrail.lake import LakeFile, lake_root, parse_batch, parse_path


@pytest.mark.parametrize(
    ("name", "batch"),
    [
        ("records_updated.0.parquet", ("records_updated", 0)),
        ("records_updated.12.parquet", ("records_updated", 12)),
        ("records_updated.parquet", ("records_updated", None)),
        ("records.invalid.3.parquet", ("records.invalid", 3)),
        ("records.v2.parquet", ("records.v2", None)),
        ("7.parquet", ("7", None)),
        # Too large for an integer: then it is no number.
        ("records.99999999999.parquet", ("records.99999999999", None)),
    ],
)
def test_batch_type_and_number(name, batch):
    assert parse_batch(name) == batch


def test_record_file():
    assert parse_path("sync_tracking_datasets/1/22/333/records_updated.4.parquet") == LakeFile(
        "records", "1", "22", "333", "records_updated", 4
    )


def test_run_metadata():
    assert parse_path("sync_tracking_datasets/1/22/333/metadata.json") == LakeFile(
        "run_metadata", "1", "22", "333"
    )


@pytest.mark.parametrize(
    ("path", "kind", "refresh"),
    [
        ("metadata/1/source_objects.parquet", "source_objects", "metadata/1/source_objects.parquet"),
        ("metadata/1/source_objects/p-0.parquet", "source_objects", "metadata/1/source_objects"),
        ("metadata/1/source_objects_2025-11-01.parquet", "source_objects", None),
        ("metadata/1/destinations.parquet", "destinations", None),
        ("metadata/1/destination_objects.parquet", "destination_objects", None),
        ("metadata/1/destination_objects/a/b.parquet", "destination_objects", None),
        ("metadata/1/20251101/destinations.parquet", "destinations", "metadata/1/20251101"),
        ("metadata/1/dim_7.parquet", None, "metadata/1/dim_7.parquet"),
    ],
)
def test_fact_files(path, kind, refresh):
    told = parse_path(path)
    assert told is not None
    assert (told.kind, told.org_id) == (kind, "1")
    if refresh is not None:
        assert told.refresh == refresh


@pytest.mark.parametrize(
    "path",
    [
        "sync_tracking_datasets/1/22/333/_SUCCESS",
        "sync_tracking_datasets/1/22/333/_part.parquet",
        "sync_tracking_datasets/1/22/333/.part.parquet",
        "sync_tracking_datasets/1/22/_temporary/part.parquet",
        "sync_tracking_datasets/.trash/22/333/part.parquet",
        "sync_tracking_datasets/1/22/333/part.csv",
        "sync_tracking_datasets/1/22/333/part.parquet.crc",
        "sync_tracking_datasets/1/22/333/other.json",
        "sync_tracking_datasets/1/22/part.parquet",
        "sync_tracking_datasets/1/22/333/deeper/part.parquet",
        "metadata/source_objects.parquet",
        "metadata/1/destinations.csv",
        "metadata/1/_destinations.parquet",
        "sync-unloads/1/22/333/part.parquet",
        "x/sync_tracking_datasets/1/22/333/part.parquet",
    ],
)
def test_what_is_no_data(path):
    assert parse_path(path) is None


@pytest.mark.parametrize(
    "text", ["s p/a ce/ü/ü.1.parquet", "#/%20/[x]/{y}*?.1.parquet", "a/b/c\nd/e\nf.1.parquet"]
)
def test_any_name_will_do(text):
    told = parse_path(f"sync_tracking_datasets/{text}")
    assert told is not None
    org, sync, run, name = text.split("/")
    assert told == LakeFile("records", org, sync, run, name.removesuffix(".1.parquet"), 1)


def test_local_roots_are_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path.parent)
    expected = f"file:{tmp_path.resolve()}"
    for spelling in (
        str(tmp_path),
        f"{tmp_path}/",
        tmp_path.name,
        f"file:{tmp_path}",
        f"file://{tmp_path}//",
    ):
        assert lake_root(spelling) == expected


def test_other_filesystems_keep_their_scheme():
    assert lake_root("s3a://bucket/a//b/") == "s3a://bucket/a/b"
    assert lake_root("s3a://bucket") == "s3a://bucket"


def test_a_local_lake_must_exist(tmp_path):
    with pytest.raises(LakeError, match="no such directory; check the path"):
        lake_root(str(tmp_path / "nowhere"))
