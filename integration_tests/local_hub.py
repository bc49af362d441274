"""A dbt hub on this machine, as dbt's registry client asks it: an index, a document a package, and tarballs.

The documents are shaped like those of the public hub; see dbt's `dbt.clients.registry`.
"""

from __future__ import annotations

import functools
import hashlib
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import yaml


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing of each request."""


class LocalHub:
    """Serves versions of packages of one namespace; `url` is what DBT_PACKAGE_HUB_URL takes."""

    def __init__(self, folder: Path, namespace: str) -> None:
        self._folder = folder
        self._namespace = namespace
        self._packages: dict[str, dict[str, Any]] = {}
        handler = functools.partial(_QuietHandler, directory=str(folder))
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    @contextmanager
    def running(self) -> Iterator[LocalHub]:
        """Serve until the block ends."""
        thread = threading.Thread(target=self._server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            thread.join()
            self._server.server_close()

    def publish(self, package: Path) -> None:
        """Serve a folder that holds a package, as the version that its dbt_project.yml tells."""
        project = yaml.safe_load((package / "dbt_project.yml").read_text())
        name, version = project["name"], project["version"]
        tarball = self._folder / "tarballs" / f"{name}-{version}.tar.gz"
        tarball.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(tarball, "w:gz") as archive:
            archive.add(package, arcname=f"{name}-{version}")
        self._packages.setdefault(name, {})[version] = {
            "id": f"{self._namespace}/{name}/{version}",
            "name": name,
            "version": version,
            "packages": yaml.safe_load((package / "packages.yml").read_text())["packages"],
            "require_dbt_version": project["require-dbt-version"],
            "works_with": [],
            "_source": {"type": "github", "url": "", "readme": ""},
            "downloads": {
                "tarball": f"{self.url}tarballs/{tarball.name}",
                "format": "tgz",
                "sha1": hashlib.sha1(tarball.read_bytes()).hexdigest(),
            },
        }
        self._write("index.json", [f"{self._namespace}/{known}" for known in self._packages])
        self._write(
            f"{self._namespace}/{name}.json",
            {
                "name": name,
                "namespace": self._namespace,
                "latest": version,
                "versions": self._packages[name],
            },
        )

    def _write(self, path: str, document: object) -> None:
        file = self._folder / "api" / "v1" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(document))
