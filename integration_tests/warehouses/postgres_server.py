"""A throw-away Postgres server on a free port of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

from warehouses.local_server import free_port

# Postgres refuses to run as root; nobody is there on every Unix.
_UNPRIVILEGED = 65534
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "listen_addresses": "127.0.0.1",
    "timezone": "America/New_York",  # far from UTC, so that what depends on the session's time zone shows
}


class PostgresServer:
    """A server of its own, in a folder that it removes when it stops; user and database are `postgres`."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="synctrail-postgres-", dir="/tmp"))
        package = find_spec("pgserver")
        assert package is not None and package.origin is not None
        packages = Path(package.origin).parents[1]
        self._user = _UNPRIVILEGED if os.getuid() == 0 else None
        if self._user:
            # Where the checkout is root's alone, nobody reaches its binaries.
            for name in ("pgserver", "pgserver.libs"):
                shutil.copytree(packages / name, self._folder / name)
            packages = self._folder
            shutil.chown(self._folder, self._user, self._user)
            self._folder.chmod(0o755)
        self._bin = packages / "pgserver" / "pginstall" / "bin"
        self._run("initdb", "--username=postgres", "--auth=trust", "--encoding=UTF8", "--locale=C.UTF-8")
        self.port = free_port()
        settings = {**_SETTINGS, "port": self.port, "unix_socket_directories": self._folder}
        options = " ".join(f"-c {name}={value}" for name, value in settings.items())
        self._run("pg_ctl", "start", "--wait", f"--log={self._folder / 'log'}", f"--options={options}")

    def stop(self) -> None:
        """Stop the server and remove what it held."""
        self._run("pg_ctl", "stop", "--mode=immediate")
        shutil.rmtree(self._folder)

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._bin / program, f"--pgdata={self._folder / 'data'}", *arguments],
            user=self._user,
            group=self._user,
            extra_groups=[] if self._user else None,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )
