"""One load at a time: a lock file that the operating system releases with the process that holds it."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TypeVar

from synctrail.errors import BusyError, WarehouseError

_LOCK = TypeVar("_LOCK")
_POLL_SECONDS = 0.2


def this_process() -> str:
    """Return what others are told who meet a lock of this process."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def acquire(
    try_lock: Callable[[], _LOCK | None],
    holder: Callable[[], str],
    wait_seconds: float,
    *,
    poll_seconds: float = _POLL_SECONDS,
) -> _LOCK:
    """Return the lock that ``try_lock`` gives once nobody else has it.

    Raises:
        BusyError: another process still holds it after ``wait_seconds``; the message names the ``holder``.

    """
    deadline = time.monotonic() + wait_seconds
    while (lock := try_lock()) is None:
        if time.monotonic() >= deadline:
            raise BusyError(
                f"another load is running ({holder()}); wait for it to end, or give --wait SECONDS"
            )
        time.sleep(poll_seconds)
    return lock


@contextmanager
def exclusive_lock(path: Path, *, wait_seconds: float) -> Iterator[None]:
    """Hold ``path`` as a lock for the time of the block; the file is removed at its end.

    Raises:
        BusyError: another process still holds it after ``wait_seconds``; the message names that process.
        WarehouseError: the file cannot be written.

    """
    with acquire(lambda: _try_lock(path), lambda: _holder(path), wait_seconds):
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def _try_lock(path: Path) -> IO[str] | None:
    """Return the lock file opened and locked, or None if another process has it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("a+", encoding="utf-8")
    except FileNotFoundError:
        # The holder has removed the folder in between, as it does when it ends.
        return None
    except OSError as error:
        raise WarehouseError(
            f"cannot write {error.filename}: {error.strerror}; give the user who runs the load the right and"
            " the room to write there, or correct the target in profiles.yml"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The holder removes the file when it ends: what was locked may be a file without a name by now.
        if os.fstat(file.fileno()).st_ino == path.stat().st_ino:
            holder = json.dumps({"pid": os.getpid(), "host": socket.gethostname()})
            # A disk without room for the name of the holder has room for the lock.
            with suppress(OSError):
                file.truncate(0)
                os.write(file.fileno(), holder.encode())
            return file
    except (BlockingIOError, FileNotFoundError):
        pass
    file.close()
    return None


def _holder(path: Path) -> str:
    try:
        holder = json.loads(path.read_text(encoding="utf-8"))
        return f"process {holder['pid']} on {holder['host']}"
    except (OSError, ValueError, KeyError):
        return "another process"
