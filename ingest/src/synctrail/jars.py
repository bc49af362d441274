"""Fetches jars that Spark lacks, once, into a folder of the caller's: of Delta Lake, Iceberg, S3, Thrift.

``python -m synctrail.jars DIR [delta|iceberg|s3|thrift]...`` prints them as one comma-separated list for
``spark.jars``, Delta's unless told otherwise; nothing if they cannot be had. Without Delta's and Iceberg's,
tables of the Spark catalog are plain Parquet. Those for the Thrift server belong into
``spark.driver.extraClassPath``, since threads of Hive's see no others.

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
from dataclasses import dataclass
from pathlib import Path

from synctrail.errors import SynctrailError
from synctrail.java import find_java_home

DELTA = {"4.1": "io.delta:delta-spark_4.1_2.13:4.4.0"}
"""The release of Delta Lake for each release of Spark. Source: https://docs.delta.io/releases/"""

ICEBERG = {"4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.11.0"}
"""The release of Iceberg for each release of Spark. Source: https://iceberg.apache.org/releases/"""

HADOOP = {"4.1": "3.4.2"}
"""The release of Hadoop in each release of Spark: that of its hadoop-client jars."""

AWS_SDK = {"3.4.2": "2.29.52"}
"""The AWS SDK of each release of Hadoop.

Source: aws-java-sdk-v2.version in
https://github.com/apache/hadoop/blob/rel/release-3.4.2/hadoop-project/pom.xml
"""

HIVE = {"4.1": "2.3.10"}
"""The release of Hive in each release of Spark: that of its hive-exec jar."""

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
_ALL_ELSE = ("*:*",)
# All services of AWS in one jar of 600 MB; the modules that S3A needs are a fortieth of it.
_ALL_OF_AWS = "software.amazon.awssdk:bundle"
# A role is asked for of sts, and a profile of the single sign-on of two more.
_S3_MODULES = ("s3", "s3-transfer-manager", "sts", "sso", "ssooidc")
_TIMEOUT_SECONDS = 300


@dataclass(frozen=True)
class _Wanted:
    """What to fetch: coordinates, what they need but Spark carries, and a jar by which to know success."""

    coordinates: tuple[str, ...]
    excluded: tuple[str, ...]
    proof: str


def delta_jars(folder: Path) -> list[Path]:
    """Return the jars of Delta Lake that fit the installed Spark, fetching them if the folder lacks them.

    Returns:
        The jars' absolute paths, sorted; none if they can neither be found nor fetched.

    """
    return _format_jars(folder, DELTA, "*delta-spark*.jar")


def iceberg_jars(folder: Path) -> list[Path]:
    """Return the jar of Iceberg that fits the installed Spark, fetching it if the folder lacks it.

    Returns:
        Its absolute path (all of Iceberg is one jar); none if it can neither be found nor fetched.

    """
    return _format_jars(folder, ICEBERG, "*iceberg-spark-runtime*.jar")


def s3_jars(folder: Path) -> list[Path]:
    """Return the jars with which the installed Spark reads ``s3a://`` (19 MB), fetching them as need be.

    Instead of the SDK for all of AWS, as hadoop-aws asks for it, these are its modules for S3 alone.

    Returns:
        The jars' absolute paths, sorted; none if they can neither be found nor fetched.

    """
    hadoop = HADOOP.get(_spark_release())
    if hadoop is None:
        return []
    modules = (f"software.amazon.awssdk:{module}:{AWS_SDK[hadoop]}" for module in _S3_MODULES)
    coordinates = (f"org.apache.hadoop:hadoop-aws:{hadoop}", *modules)
    # Hadoop's own jar is wanted here, and what else Spark carries does no harm beside it.
    return _jars(folder, _Wanted(coordinates, (_ALL_OF_AWS,), "*hadoop-aws*.jar"))


def thrift_jars(folder: Path) -> list[Path]:
    """Return the jar without which the installed Spark's Thrift server cannot close each session.

    Closing one, Hive may list its functions, of which one needs a class of LLAP. Spark leaves its jar out,
    and brings it to its own tests alone. Source: https://github.com/apache/spark/pull/49736

    Returns:
        Its absolute path; none if it can neither be found nor fetched.

    """
    release = HIVE.get(_spark_release())
    if release is None:
        return []
    coordinates = (f"org.apache.hive:hive-llap-common:{release}",)
    return _jars(folder, _Wanted(coordinates, _ALL_ELSE, "*hive-llap-common*.jar"))


def _format_jars(folder: Path, releases: dict[str, str], proof: str) -> list[Path]:
    coordinates = releases.get(_spark_release())
    return _jars(folder, _Wanted((coordinates,), _CARRIED_BY_SPARK, proof)) if coordinates else []


def _spark_release() -> str:
    return ".".join(importlib.metadata.version("pyspark").split(".")[:2])


def _jars(folder: Path, wanted: _Wanted) -> list[Path]:
    jars = folder.absolute() / wanted.coordinates[0].replace(":", "_")
    if not jars.is_dir() and not any(_fetched(fetch, wanted, jars) for fetch in (_with_ivy, _with_maven)):
        return []
    return sorted(jars.glob("*.jar"))


def _fetched(fetch: Callable[[_Wanted, Path], None], wanted: _Wanted, jars: Path) -> bool:
    """Fetch into a folder beside the right one, which is there whole or not at all."""
    jars.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=jars.parent) as work:
        found = Path(work) / "jars"
        try:
            fetch(wanted, Path(work))
        except (OSError, subprocess.SubprocessError, SynctrailError):
            return False
        if not any(found.glob(wanted.proof)):
            return False
        found.rename(jars)
    return True


def _with_ivy(wanted: _Wanted, work: Path) -> None:
    """Let Spark's own Ivy resolve the coordinates: it does so before it runs anything."""
    settings = work / "ivysettings.xml"
    settings.write_text(_IVY_SETTINGS, encoding="utf-8")
    options = {
        "spark.jars.packages": ",".join(wanted.coordinates),
        "spark.jars.excludes": ",".join(wanted.excluded),
        "spark.jars.ivySettings": str(settings),
        "spark.jars.ivy": str(work),
    }
    arguments = [part for name, value in options.items() for part in ("--conf", f"{name}={value}")]
    _run(
        [_spark_home() / "bin" / "spark-submit", *arguments, "--class", "org.apache.spark.sql.SparkSession$"],
        "spark-internal",
    )


def _with_maven(wanted: _Wanted, work: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise FileNotFoundError("mvn")
    exclusions = "".join(
        "<exclusion><groupId>{}</groupId><artifactId>{}</artifactId></exclusion>".format(*excluded.split(":"))
        for excluded in wanted.excluded
    )
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{release}</version>"
        f"<exclusions>{exclusions}</exclusions></dependency>"
        for group, artifact, release in (each.split(":") for each in wanted.coordinates)
    )
    (work / "pom.xml").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>synctrail</groupId><artifactId>jars</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>",
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


_WITHOUT = {
    "delta": "tables of the Spark catalog will be plain Parquet",
    "iceberg": "tables of the Spark catalog will be plain Parquet",
    "s3": "s3a:// cannot be read",
    "thrift": "a Thrift server will fail to close some of its sessions",
}
_KINDS = {"delta": delta_jars, "iceberg": iceberg_jars, "s3": s3_jars, "thrift": thrift_jars}


def main(arguments: list[str]) -> int:
    """Print the jars in ``DIR`` as one comma-separated list; an empty line if there are none."""
    folder, *kinds = arguments or [""]
    if not folder or not _KINDS.keys() >= set(kinds):
        sys.stderr.write("usage: python -m synctrail.jars DIR [delta|iceberg|s3|thrift]...\n")
        return 2
    jars: list[Path] = []
    for kind in kinds or ["delta"]:
        found = _KINDS[kind](Path(folder))
        if not found:
            sys.stderr.write(f"the jars for {kind} cannot be fetched: {_WITHOUT[kind]}\n")
        jars += found
    sys.stdout.write(",".join(str(jar) for jar in jars) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
