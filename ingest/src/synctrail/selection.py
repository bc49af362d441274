"""Which part of a lake a command is about: some organizations, some syncs, or runs since a date."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

# The folder of a run; a fact table's path has none.
_RUN_FOLDER = r"^(?P<run>sync_tracking_datasets/[^/]+/[^/]+/[^/]+)/"


@dataclass(frozen=True)
class Selection:
    """A part of a lake; with nothing given, all of it.

    Args:
        orgs: ids of organizations; none for all.
        syncs: ids of syncs; none for all. Fact tables belong to no sync, and so are never left out by it.
        since: leave out runs whose newest file was modified before this moment. A path does not tell when
            its run was, so this narrows what is read, not what is listed.

    """

    orgs: frozenset[str] = frozenset()
    syncs: frozenset[str] = frozenset()
    since: dt.datetime | None = None

    @property
    def is_by_path(self) -> bool:
        """Whether paths tell what is left out, so that it need not even be listed."""
        return bool(self.orgs or self.syncs)

    def recent(self, files: pa.Table) -> pa.Table:
        """Return the files of a listing that ``since`` does not leave out: runs whole, fact tables always."""
        if self.since is None:
            return files
        run = run_folders(files.column("path"))
        newest = newest_of_runs(run, files.column("modified_at"))
        moment = pa.scalar(self.since, files.schema.field("modified_at").type)
        old = newest.filter(pc.less(newest.column("newest_at"), moment)).column("run")
        # Null is no run: is_in would find it among nothing.
        return files.filter(pc.invert(pc.is_in(run, value_set=old.drop_null())))

    def __str__(self) -> str:
        """Return the selection as the options that ask for it; empty for all of the lake."""
        options = [f"--org {org}" for org in sorted(self.orgs)]
        options += [f"--sync {sync}" for sync in sorted(self.syncs)]
        if self.since is not None:
            options.append(f"--since {self.since:%Y-%m-%d}")
        return " ".join(options)


EVERYTHING = Selection()


def run_folders(paths: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return each path's run folder; null for files that are of no run."""
    return pc.struct_field(pc.extract_regex(paths, _RUN_FOLDER), "run")


def newest_of_runs(runs: pa.ChunkedArray, modified_at: pa.ChunkedArray) -> pa.Table:
    """Return one row per run folder: ``run``, and ``newest_at``, when its newest file was modified."""
    table = pa.table({"run": runs, "modified_at": modified_at})
    grouped = table.group_by("run").aggregate([("modified_at", "max")])
    return grouped.rename_columns(["run", "newest_at"])
