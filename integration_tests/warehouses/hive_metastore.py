"""A metastore of Hive's on this machine, as several sessions of Spark share one."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from warehouses.local_server import LocalServer, free_port

_SPARK = Path(pyspark.__file__).parent
# Its asynchronous logging asks for a jar that Spark does not carry.
_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dhive.async.log.enabled=false"


class HiveMetastore(LocalServer):
    """A metastore with a database in a folder, where its log is as well."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        settings = {
            "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/metastore;create=true",
            "datanucleus.schema.autoCreateAll": "true",
            # What it looks for by itself, Spark does not carry.
            "datanucleus.connectionPoolingType": "HikariCP",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.warehouse.dir": str(folder / "spark-warehouse"),
        }
        command: list[str | Path] = [
            _SPARK / "bin" / "spark-submit",
            "--class", "org.apache.hadoop.hive.metastore.HiveMetaStore",
            "--driver-memory", "512m",
            "--driver-java-options", f"{_JAVA_OPTIONS} -Dderby.system.home={folder}",
            "spark-internal",
            "-p", str(port),
        ]  # fmt: skip
        for name, value in settings.items():
            command += ["--hiveconf", f"{name}={value}"]
        environment = {**os.environ, "SPARK_HOME": str(_SPARK)}
        super().__init__(command, port, folder / "metastore.log", cwd=folder, env=environment)

    def spark_settings(self) -> dict[str, str]:
        """Return the setting with which a session of Spark uses it."""
        return {"spark.hadoop.hive.metastore.uris": f"thrift://127.0.0.1:{self.port}"}
