"""Settings of a Spark that reads few rows on few cores, as tests have it."""

from __future__ import annotations

LITTLE_DATA = {
    "spark.master": "local[2]",
    # A statement has few rows and runs once. To write Java for it and to compile that is two fifths of the
    # work; Spark has each expression in a form that needs none.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # Likewise Java's optimizing compiler and a concurrent collector only cost. Without the one, Java would
    # reserve 48 MB for compiled code: a session of many tests fills them, and then compiles in circles.
    "spark.driver.defaultJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
    ),
}


def as_options(settings: dict[str, str]) -> list[str]:
    """Return settings of Spark as options of the command line."""
    return [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
