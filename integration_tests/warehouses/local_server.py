"""Servers that a test starts on this machine, each a process of its own on a free port."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_START_SECONDS = 120
_END_SECONDS = 60


def free_port() -> int:
    """Return a port of the loopback address on which nothing listens."""
    return free_ports(1)[0]


def free_ports(count: int) -> list[int]:
    """Return as many different ones."""
    with contextlib.ExitStack() as open_sockets:
        sockets = [open_sockets.enter_context(socket.socket()) for _ in range(count)]
        for free in sockets:
            free.bind(("127.0.0.1", 0))
        return [int(free.getsockname()[1]) for free in sockets]


class LocalServer:
    """A server that listens on its port when this is made.

    Args:
        command: What starts it; it must not leave the process that it gets.
        port: Of the loopback address, on which it will listen.
        log: The file for what it prints, which an error names.
        options: Of `subprocess.Popen`.

    Raises:
        AssertionError: It ended, or listens not within two minutes.

    """

    def __init__(self, command: Sequence[str | Path], port: int, log: Path, **options: Any) -> None:
        self.port = port
        with log.open("wb") as messages:
            self._process = subprocess.Popen(command, stdout=messages, stderr=messages, **options)
        deadline = time.monotonic() + _START_SECONDS
        while not self._listens():
            assert self._process.poll() is None, f"a server ended; its log is {log}"
            assert time.monotonic() < deadline, f"a server does not answer; its log is {log}"
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop the server."""
        self._process.terminate()
        self._process.communicate(timeout=_END_SECONDS)

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True
