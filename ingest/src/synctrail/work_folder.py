"""The folder of a load's staged rows, where they go to a server from the machine that runs the load."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from synctrail.errors import WarehouseError


def digest_of(warehouse: str) -> str:
    """Return what is in the name of a warehouse's folder alone."""
    return hashlib.blake2b(warehouse.encode(), digest_size=8).hexdigest()


def work_folder(warehouse: str) -> Path:
    """Return the folder of this user and this warehouse alone; its lock tells that nobody else uses it."""
    return Path(tempfile.gettempdir()) / f"synctrail-{os.getuid()}-{digest_of(warehouse)}"


@contextmanager
def made_anew(folder: Path) -> Iterator[None]:
    """Make the folder for the time of the block, without what a killed load left; others cannot look in.

    Raises:
        WarehouseError: it cannot be written.

    """
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise WarehouseError(
            f"cannot write {folder}: {error.strerror}; set TMPDIR to a folder that may be written"
        ) from error
    try:
        yield
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def check_arrived(
    found: int,
    expected: int,
    place: str,
    advice: str = "set TMPDIR to a folder that Spark's driver and executors share",
) -> None:
    """Refuse a load of which rows are missing where they were staged.

    Args:
        found: how many rows came back.
        expected: how many were read.
        place: where they were staged.
        advice: what to do about it.

    Raises:
        WarehouseError: there are fewer rows, or more, than were read.

    """
    if found != expected:
        raise WarehouseError(
            f"{found:,} of {expected:,} rows were found in {place}, nothing of the load was kept; {advice}"
        )
