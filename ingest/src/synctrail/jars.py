"""Fetches the jars of Delta Lake once, into a folder of the caller's, for ``spark.jars``.

``python -m synctrail.jars DIR`` prints them as one comma-separated list, or nothing if they cannot be had:
tables of the Spark catalog are then plain Parquet.

Spark's own ``spark.jars.packages`` asks several repositories, some of which a guarded network does not
reach, and brings Hadoop's client again, which Spark has. So Ivy gets settings of its own here: Maven Central
alone, without what Spark carries.
"""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from synctrail.errors import SynctrailError
from synctrail.java import find_java_home

DELTA = {"4.1": "io.delta:delta-spark_4.1_2.13:4.4.0"}
"""The release of Delta Lake for each release of Spark. Source: https://docs.delta.io/releases/"""

_IVY_SETTINGS = """<ivysettings>
  <settings defaultResolver="central"/>
  <resolvers><ibiblio name="central" m2compatible="true"/></resolvers>
</ivysettings>
"""
_CARRIED_BY_SPARK = (
    "com.fasterxml.jackson.core:*",
    "com.github.luben:*",
    "org.apache.hadoop:*",
    "org.apache.logging.log4j:*",
    "org.apache.parquet:*",
    "org.roaringbitmap:*",
    "org.scala-lang:*",
    "org.slf4j:*",
    "org.xerial.snappy:*",
)
_TIMEOUT_SECONDS = 300


def delta_jars(folder: Path) -> list[Path]:
    """Return the jars of Delta Lake that fit the installed Spark, fetching them if the folder lacks them.

    Returns:
        The jars' absolute paths, sorted; none if they can neither be found nor fetched.

    """
    coordinates = DELTA.get(".".join(importlib.metadata.version("pyspark").split(".")[:2]))
    if coordinates is None:
        return []
    jars = folder.absolute() / coordinates.replace(":", "_")
    if not jars.is_dir():
        for fetch in (_with_ivy, _with_maven):
            if _fetched(fetch, coordinates, jars):
                break
        else:
            return []
    return sorted(jars.glob("*.jar"))


def _fetched(fetch: Callable[[str, Path], None], coordinates: str, jars: Path) -> bool:
    """Fetch into a folder beside the right one, which is there whole or not at all."""
    jars.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jars.parent) as work:
        found = Path(work) / "jars"
        try:
            fetch(coordinates, Path(work))
        except (OSError, subprocess.SubprocessError, SynctrailError):
            return False
        if not any(found.glob("*delta-spark*.jar")):
            return False
        found.rename(jars)
    return True


def _with_ivy(coordinates: str, work: Path) -> None:
    """Let Spark's own Ivy resolve the coordinates: it does so before it runs anything."""
    settings = work / "ivysettings.xml"
    settings.write_text(_IVY_SETTINGS, encoding="utf-8")
    options = {
        "spark.jars.packages": coordinates,
        "spark.jars.excludes": ",".join(_CARRIED_BY_SPARK),
        "spark.jars.ivySettings": str(settings),
        "spark.jars.ivy": str(work),
    }
    arguments = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    _run(
        [_spark_home() / "bin" / "spark-submit", *arguments, "--class", "org.apache.spark.sql.SparkSession$"],
        "spark-internal",
    )


def _with_maven(coordinates: str, work: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise FileNotFoundError("mvn")
    group, artifact, release = coordinates.split(":")
    exclusions = "".join(
        "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(*excluded.split(":"))
        for excluded in _CARRIED_BY_SPARK
    )
    (work / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>synctrail</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><dependencies><dependency><groupId>{group}</groupId>"
        f"<artifactId>{artifact}</artifactId><version>{release}</version>"
        f"<exclusions>{exclusions}</exclusions></dependency></dependencies></project>",
        encoding="utf-8",
    )
    _run(
        [maven, "-q", "-B", "-f", work / "pom.xml", "dependency:copy-dependencies"],
        f"-DoutputDirectory={work / 'jars'}",
        "-DincludeScope=runtime",
    )


def _run(command: list[str | Path], *arguments: str) -> None:
    subprocess.run(  # noqa: S603 - Spark's and Maven's own commands
        [*command, *arguments],
        check=False,
        capture_output=True,
        timeout=_TIMEOUT_SECONDS,
        env={**os.environ, "JAVA_HOME": str(find_java_home())},
    )


def _spark_home() -> Path:
    import pyspark  # noqa: PLC0415 - takes a second, and is needed only to fetch

    return Path(os.environ.get("SPARK_HOME") or Path(pyspark.__file__).parent)


def main(arguments: list[str]) -> int:
    """Print the jars in ``DIR`` as one comma-separated list; an empty line if there are none."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m synctrail.jars DIR\n")
        return 2
    jars = delta_jars(Path(arguments[0]))
    if not jars:
        sys.stderr.write(
            "Delta's jars cannot be fetched: tables of the Spark catalog will be plain Parquet\n"
        )
    sys.stdout.write(",".join(str(jar) for jar in jars) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
