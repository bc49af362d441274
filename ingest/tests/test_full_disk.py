"""Loads that cannot write on: nothing of them is kept, and the next one is whole."""

from __future__ import annotations

import base64
import os
import random
import resource
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from commands import load, write_profile
from conftest import Loader, make_loader, postgres_settings
from lakes import Lake, record_columns
from pyspark.sql import SparkSession

from synctrail.errors import SynctrailError
from synctrail.spark_errors import SPARK_ERRORS, translate

MEGABYTE = 1 << 20
FILES = 4
PLENTY = 400 * MEGABYTE
# From a disk that is full before the load begins to one on which all of it fits.
FREE = [0, 1, 3, 5, 7, 9, 12, 64]


@pytest.fixture
def disk() -> Iterator[Path]:
    """Give a folder that is a file system of its own, in memory; the user that runs Postgres reaches it."""
    # Above the folder for temporary files may be one that is closed to others.
    place = tempfile.TemporaryDirectory(prefix="synctrail-disk-", dir="/tmp", ignore_cleanup_errors=True)
    with place as name:
        folder = Path(name)
        folder.chmod(0o755)
        if os.geteuid() or mount("-t", "tmpfs", "-o", f"size={PLENTY}", "tmpfs", folder):
            pytest.skip("this user may not mount a file system")
        yield folder
        subprocess.run(["umount", "--lazy", folder], check=True)


@contextmanager
def loader_onto(disk: Path, kind: str, spark: SparkSession) -> Iterator[Loader]:
    """Give a loader into a new warehouse, the tables of which lie on the disk."""
    loader = make_loader(kind, disk, spark)
    if kind == "postgres":
        with tablespace(disk / "tablespace"):
            yield loader
            return
    if kind != "duckdb":
        spark.sql(f"create schema {loader.warehouse._schema} location 'file:{disk}/warehouse'")
    yield loader


@contextmanager
def tablespace(folder: Path) -> Iterator[None]:
    """Let Postgres keep new tables in a folder for the time of the block; drop them at its end."""
    folder.mkdir()
    with psycopg.connect(**postgres_settings(), autocommit=True) as server:
        (data,) = server.execute("show data_directory").fetchone() or ()
        owner = Path(data).stat()
        os.chown(folder, owner.st_uid, owner.st_gid)
        server.execute(f"create tablespace full_disk location '{folder}'")
        server.execute("alter role postgres set default_tablespace = full_disk")
        try:
            yield
        finally:
            server.execute("alter role postgres reset default_tablespace")
            schemas = server.execute(
                "select distinct schemaname from pg_tables where tablespace = 'full_disk'"
            ).fetchall()
            for (schema,) in schemas:
                server.execute(f'drop schema "{schema}" cascade')
            server.execute("drop tablespace full_disk")


def mount(*arguments: str | Path) -> int:
    return subprocess.run(["mount", *arguments], capture_output=True, check=False).returncode


def leave(disk: Path, free: int) -> None:
    """Leave so many bytes free on the disk."""
    found = os.statvfs(disk)
    used = (found.f_blocks - found.f_bfree) * found.f_frsize
    assert not mount("-o", f"remount,size={max(found.f_frsize, used + free)}", disk)
    assert os.statvfs(disk).f_bavail * found.f_frsize <= free


def fill(lake: Lake) -> None:
    """Write record files of a megabyte each that nothing compresses."""
    chance = random.Random(0)
    for number in range(FILES):
        identifiers = [f"user-{number}-{row}" for row in range(MEGABYTE // 4000)]
        payloads = [base64.b64encode(chance.randbytes(3000)).decode() for _ in identifiers]
        lake.records("1/22/333", f"a.{number}.parquet", record_columns(identifiers, record_payload=payloads))


@pytest.mark.slow
@pytest.mark.parametrize("free", FREE)
def test_a_full_disk(disk, warehouse_kind, spark, lake, free):
    """Wherever in its life a load finds the disk full, it fails, and never counts in part."""
    with loader_onto(disk, warehouse_kind, spark) as loader:
        lake.records("1/22/332", "a.0.parquet", record_columns(["first"]))
        loader.load(lake)
        before = loader.tables()
        fill(lake)
        leave(disk, free * MEGABYTE)
        try:
            loader.load(lake)
        except (SynctrailError, *SPARK_ERRORS) as error:
            told = str(error if isinstance(error, SynctrailError) else translate(error, str(lake.root)))
            assert "No space left on device" in told
            assert free < FREE[-1]
            assert loader.tables() == before
        else:
            assert free
        leave(disk, PLENTY)
        loader.load(lake)
        assert_whole(loader, lake)
        left = {str(entry.relative_to(disk)) for entry in disk.rglob("*")}
        assert not {name for name in left if "_temporary" in name or name.endswith((".synctrail", ".wal"))}
        loads = {part.partition("=")[2] for name in left for part in name.split("/") if "load_id=" in part}
        assert loads <= {row["load_id"] for row in loader.rows("load_history")}


def assert_whole(loader: Loader, lake: Lake) -> None:
    """Assert that the tables are those of one undisturbed load."""
    folder = lake.root.parent / "undisturbed"
    folder.mkdir()
    undisturbed = make_loader("duckdb", folder, loader.spark)
    undisturbed.load(lake)
    assert loader.tables() == undisturbed.tables()


def test_a_file_that_may_not_grow(project, lake, tmp_path, spark):
    """The same as users see it, by a limit that every user may set on a process and its children."""
    loader = make_loader("duckdb", tmp_path, spark)
    write_profile(project, {"dev": {"type": "duckdb", "path": str(loader.warehouse._database)}})
    fill(lake)
    limit = MEGABYTE // 2
    result = load(
        project,
        lake.root,
        before_start=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert (result.returncode, result.stdout) == (1, "")
    told = result.stderr.splitlines()[-1]
    assert told.startswith("synctrail: no room to write, nothing of this load was kept: ")
    assert "make room" in told
    assert {entry.name for entry in tmp_path.iterdir()} == {"project", "lake"}
    loader.load(lake)
    assert_whole(loader, lake)
