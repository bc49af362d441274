"""A throw-away fakesnow server on a free port of this machine, in a process of its own."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

from warehouses.free_port import free_port

_SERVER = Path(__file__).with_name("snowflake_server.py")
_START_SECONDS = 60


class SnowflakeProcess:
    """A server of its own, which answers when this is made; its log is in the folder."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        with (folder / "fakesnow.log").open("wb") as log:
            # Safe path: beside the program lies a module of the name of Snowflake's own package.
            command: list[str | Path] = [sys.executable, "-P", _SERVER, str(self.port)]
            self._server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log)
        deadline = time.monotonic() + _START_SECONDS
        while True:
            assert self._server.poll() is None, "fakesnow ended; its log is fakesnow.log"
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
            except OSError:
                assert time.monotonic() < deadline, "fakesnow does not answer; its log is fakesnow.log"
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        """Stop the server, which lives as long as its standard input."""
        self._server.communicate(timeout=30)
