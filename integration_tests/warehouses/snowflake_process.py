"""A throw-away fakesnow server on a free port of this machine, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from warehouses.local_server import LocalServer, free_port

_SERVER = Path(__file__).with_name("snowflake_server.py")


class SnowflakeProcess(LocalServer):
    """A server of its own, whose log is in the folder; it ends with its standard input, too."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        # Safe path: beside the program lies a module of the name of Snowflake's own package.
        command: list[str | Path] = [sys.executable, "-P", _SERVER, str(port)]
        super().__init__(command, port, folder / "fakesnow.log", stdin=subprocess.PIPE)
