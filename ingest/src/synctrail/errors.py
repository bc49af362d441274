"""Errors that a user can act on: each says in one line what is wrong and what to do next."""

from __future__ import annotations

from typing import ClassVar


class SynctrailError(Exception):
    """A load or another command failed; nothing of it is visible in the warehouse."""

    exit_code: ClassVar[int] = 1


class UsageError(SynctrailError):
    """The command, the dbt profile or the target is wrong; no work was begun."""

    exit_code: ClassVar[int] = 2


class LakeError(SynctrailError):
    """The lake cannot be read, or holds nothing that Synctrail knows."""


class SparkError(SynctrailError):
    """Spark, or the Java runtime that it needs, cannot be used."""


class WarehouseError(SynctrailError):
    """The warehouse cannot be read or written."""


class BusyError(WarehouseError):
    """Another process holds the warehouse or loads into it."""
