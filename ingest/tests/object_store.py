"""An S3-compatible server in a thread of this process: notes requests, and fails those that a test wants."""

from __future__ import annotations

import re
import threading
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote

import boto3
from moto.core import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends
from moto.server import DomainDispatcherApplication, create_backend_app
from pyspark.sql import SparkSession
from warehouses.little_data import as_options
from werkzeug.serving import make_server

BUCKET = "census-logs"
ERROR = "<?xml version='1.0'?><Error><Code>{code}</Code><Message>as the test wants it</Message></Error>"


@dataclass(frozen=True)
class Request:
    """A request as the server got it."""

    method: str
    key: str
    query: str
    key_id: str
    """The access key that it was signed with; empty if with none."""

    @property
    def is_list(self) -> bool:
        """Whether it asks for a page of a listing."""
        return self.method == "GET" and "list-type" in parse_qs(self.query)


Fault = Callable[[Request], tuple[int, str] | None]


@dataclass
class ObjectStore:
    """A bucket, the requests that it got, and ``fault``: with which status and code to fail a request."""

    endpoint: str = ""
    requests: list[Request] = field(default_factory=list)
    fault: Fault | None = None

    @property
    def client(self) -> Any:
        """A client of the bucket."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id="x",
            aws_secret_access_key="x",
        )

    @property
    def settings(self) -> dict[str, str]:
        """What Hadoop has to be told of the server; to Spark with ``spark.hadoop.`` before each name."""
        settings = {
            "endpoint": self.endpoint,
            "endpoint.region": "us-east-1",
            "path.style.access": "true",
            "connection.ssl.enabled": "false",
            # Spark would wait for half a second, then a whole one, and so on: nobody has time for it here.
            "retry.interval": "10ms",
            "retry.throttle.interval": "10ms",
        }
        return {f"fs.s3a.{name}": value for name, value in settings.items()}

    def options(self, jars: Mapping[str, str]) -> list[str]:
        """Return the options by which a command finds the server; ``jars`` is the setting that names them."""
        settings = {f"spark.hadoop.{name}": value for name, value in self.settings.items()}
        return as_options({**jars, **settings})

    def reach_from(self, spark: SparkSession) -> None:
        """Let a session that runs already find the server."""
        hadoop: Any = spark._jsc.hadoopConfiguration()
        for name, value in self.settings.items():
            hadoop.set(name, value)
        # A file system is kept with the settings of the server before.
        java: Any = spark._jvm
        java.org.apache.hadoop.fs.FileSystem.closeAll()

    @staticmethod
    def fill(keys: Iterable[str]) -> None:
        """Put small objects into the bucket by the back door: thousands of requests take a minute."""
        for key in keys:
            s3_backends[DEFAULT_ACCOUNT_ID]["aws"].put_object(BUCKET, key, b"no")

    def serve(self, environ: dict[str, Any], start: Any, application: Any) -> Iterable[bytes]:
        """Note a request, then fail it or pass it on."""
        path = unquote(environ.get("RAW_URI", environ["PATH_INFO"]).partition("?")[0])
        signed = re.search("Credential=([^/]*)", environ.get("HTTP_AUTHORIZATION", ""))
        request = Request(
            environ["REQUEST_METHOD"],
            path.removeprefix(f"/{BUCKET}").lstrip("/"),
            environ["QUERY_STRING"],
            signed[1] if signed else "",
        )
        self.requests.append(request)
        if failed := self.fault and self.fault(request):
            status, code = failed
            body = b"" if request.method == "HEAD" else ERROR.format(code=code).encode()
            start(
                f"{status} {code}", [("Content-Type", "application/xml"), ("Content-Length", str(len(body)))]
            )
            return [body]
        return application(environ, start)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Serve an empty bucket on a free port of this machine for the time of the block."""
    store = ObjectStore()
    moto = DomainDispatcherApplication(create_backend_app)
    server = make_server(
        "127.0.0.1", 0, lambda environ, start: store.serve(environ, start, moto), threaded=True
    )
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    store.endpoint = f"http://127.0.0.1:{server.server_port}"
    # What moto keeps belongs to the process, not to one server.
    urllib.request.urlopen(urllib.request.Request(f"{store.endpoint}/moto-api/reset", method="POST"))
    store.client.create_bucket(Bucket=BUCKET)
    try:
        yield store
    finally:
        server.shutdown()
        thread.join()
