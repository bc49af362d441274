"""A throw-away BigQuery emulator on free ports of this machine, in a process of its own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from warehouses.local_server import LocalServer, free_ports

_EMULATOR = Path(__file__).with_name("bigquery_emulator.py")


class BigQueryProcess(LocalServer):
    """An emulator of its own, which holds its tables in memory and logs into a folder.

    What it takes for Cloud Storage is in the folder's ``storage``, a folder for each bucket.
    """

    def __init__(self, folder: Path) -> None:
        port, grpc_port = free_ports(2)
        self.storage = folder / "storage"
        self.storage.mkdir()
        command: list[str | Path] = [
            sys.executable, _EMULATOR, "start",
            "--rest-port", str(port), "--grpc-port", str(grpc_port),
            "--project", "synctrail", "--log-level", "error",
        ]  # fmt: skip
        environment = {**os.environ, "BQEMU_GCS_LOCAL_ROOT": str(self.storage)}
        super().__init__(command, port, folder / "emulator.log", env=environment)
