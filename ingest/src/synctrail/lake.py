"""What lies in a Census Sync Tracking lake: its listing, and what each path says of its file.

Nothing here opens a file of the lake or writes below its root.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from synctrail import contract
from synctrail.columns import TIMESTAMP
from synctrail.errors import LakeError
from synctrail.selection import EVERYTHING, Selection
from synctrail.spark_session import RAW_FILES

RECORDS_PREFIX = "sync_tracking_datasets"
METADATA_PREFIX = "metadata"

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?=/)")
_SCHEME_AND_AUTHORITY = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?://[^/]*)?")
_RUN_FILE = re.compile(
    rf"{RECORDS_PREFIX}/(?P<org>[^/]+)/(?P<sync>[^/]+)/(?P<run>[^/]+)/(?P<name>[^/]+)", re.DOTALL
)
_ORG_FILE = re.compile(rf"{METADATA_PREFIX}/(?P<org>[^/]+)/(?P<rest>.+)", re.DOTALL)
# How a FileStatus of Hadoop prints itself; a path may hold anything, so that the last match counts.
_FILE_STATUS = (
    r"(?s)^\w+\{path=(?P<path>.*); isDirectory=false; length=(?P<length>\d+); replication=\d+; blocksize=\d+;"
    r" modification_time=(?P<modified>\d+); "
)
# A row's ``_metadata.file_path`` has one slash where the listing has three.
_LOCAL_URL = "^file:///"
_NO_FILES = (
    f"there are no files in {{lake}}: neither {RECORDS_PREFIX}/ nor {METADATA_PREFIX}/ holds any;"
    " give the root of a Census Sync Tracking lake, the folder above those two"
)
_NOTHING_CHOSEN = "there are no files of {selection} in {lake}; {there_is}"
_MAY_NOT_LIST = (
    "no permission to list {folder}; give the user who runs the load the right to read and to enter it,"
    " and to enter each folder above it"
)
# The prefix, an org, a sync: what lies below is the folder of a run.
_LEVELS_ABOVE_RUNS = 3
_HIDDEN = re.compile(r"(?:^|/)[_.]")
_BATCH_NUMBER = re.compile(r"(?P<type>.+)\.(?P<number>[0-9]{1,9})", re.DOTALL)
_MAX_NAMED = 10
# The longer name first: both begin with "destination".
_FACT_NAMES = (contract.SOURCE_OBJECTS, contract.DESTINATION_OBJECTS, contract.DESTINATIONS)


class LakeFile(NamedTuple):
    """What a file's path says.

    ``kind`` is None for a Parquet file among the fact tables whose name tells nothing: its columns will.
    ``refresh`` names what is refreshed as one: a fact table's file, or the folder that holds its parts.
    """

    kind: str | None
    org_id: str
    sync_id: str | None = None
    sync_run_id: str | None = None
    batch_type: str | None = None
    batch_number: int | None = None
    refresh: str | None = None


def parse_path(path: str) -> LakeFile | None:
    """Tell a file by its path below the lake's root.

    Returns None for whatever is no data: hidden names, other kinds of file, and files elsewhere.
    """
    if _HIDDEN.search(path):
        return None
    if match := _RUN_FILE.fullmatch(path):
        run = (match["org"], match["sync"], match["run"])
        if match["name"] == "metadata.json":
            return LakeFile(contract.RUN_METADATA, *run)
        if match["name"].endswith(".parquet"):
            return LakeFile(contract.RECORDS, *run, *parse_batch(match["name"]))
    elif (match := _ORG_FILE.fullmatch(path)) and path.endswith(".parquet"):
        return LakeFile(
            _fact_kind(match["rest"]), match["org"], refresh=_refresh(match["org"], match["rest"])
        )
    return None


def parse_batch(file_name: str) -> tuple[str, int | None]:
    """Split ``<batch_type>.<batch_number>.parquet`` or the older ``<batch_type>.parquet``."""
    stem = file_name.removesuffix(".parquet")
    if match := _BATCH_NUMBER.fullmatch(stem):
        return match["type"], int(match["number"])
    return stem, None


def _fact_kind(below_org: str) -> str | None:
    for name in below_org.split("/"):
        for kind in _FACT_NAMES:
            if name.startswith(kind):
                return kind
    return None


def _refresh(org_id: str, below_org: str) -> str:
    return f"{METADATA_PREFIX}/{org_id}/{below_org.split('/', 1)[0]}"


@dataclass(frozen=True)
class Listing:
    """The files of a lake at one moment.

    ``files`` has one row per file below the two prefixes: ``path`` (below the root), ``url`` (as Spark's
    ``_metadata.file_path`` spells it), ``size_bytes`` and ``modified_at``. ``source`` is Spark's own listing,
    kept so that reading does not list again; ``prefix`` is what stands before ``path`` in it.
    """

    root: str
    prefix: str
    files: pa.Table
    source: DataFrame


def lake_root(lake: str) -> str:
    """Spell a lake's root as Hadoop reads it: a path without a scheme is a local one.

    Raises:
        LakeError: a local path that is no directory.

    """
    scheme = _SCHEME.match(lake)
    if scheme is None or scheme.group().lower() == "file:":
        path = Path(re.sub(r"^/+", "/", _SCHEME_AND_AUTHORITY.sub("", lake)) if scheme else lake).absolute()
        try:
            is_folder = path.is_dir()
        except PermissionError as error:
            raise LakeError(_MAY_NOT_LIST.format(folder=path)) from error
        if not is_folder:
            raise LakeError(f"there is no lake at {path}: no such directory; check the path")
        return "file:" + re.sub(r"/+", "/", str(path.resolve())).rstrip("/")
    head = _SCHEME_AND_AUTHORITY.match(lake)
    authority = head.group() if head else ""
    return authority + re.sub(r"/+", "/", lake[len(authority) :]).rstrip("/")


def checked_root(lake: str) -> str:
    """Return a lake's root; of a local one, make sure that each of its folders may be listed.

    Raises:
        LakeError: a local path that is no directory, or a folder that may not be listed.

    """
    root = lake_root(lake)
    if root.startswith("file:"):
        _check_folders(Path(root.removeprefix("file:") or "/"))
    return root


def list_lake(spark: SparkSession, lake: str, selection: Selection = EVERYTHING) -> Listing:
    """List the lake's two prefixes; no file is opened, and nothing else below the root is looked at.

    Of organizations and syncs that the selection leaves out, nothing but the folders' names is listed.

    Raises:
        LakeError: there is no lake at that root, it may not be listed, or it has no file at all.

    """
    root = checked_root(lake)
    source = _chosen_source(spark, root, lake, selection) if selection.is_by_path else _source(spark, root)
    if source is None:
        raise LakeError(_NO_FILES.format(lake=lake))
    listed = _listed_files(spark, source)
    if listed.num_rows == 0:
        raise LakeError(_NO_FILES.format(lake=lake))
    prefix = _listed_root(root, listed.column("path")[0].as_py())
    paths = pc.utf8_slice_codeunits(listed.column("path"), start=len(prefix))
    return Listing(root, prefix, listed.set_column(0, "path", paths), source)


def _check_folders(root: Path) -> None:
    """Refuse a local lake with a folder that may not be listed; the folders of runs are not looked into.

    Hadoop says so only of a folder that may not be read. Of one that may be read but not entered it knows
    names without files, and passes over them in silence.
    """
    if not _may_list(root):
        raise LakeError(_MAY_NOT_LIST.format(folder=root))
    folders = [root / prefix for prefix in (RECORDS_PREFIX, METADATA_PREFIX)]
    while folders:
        folder = folders.pop()
        if not folder.exists():
            continue
        if not _may_list(folder):
            raise LakeError(_MAY_NOT_LIST.format(folder=folder))
        below = folder.relative_to(root).parts
        if below[0] == METADATA_PREFIX or len(below) <= _LEVELS_ABOVE_RUNS:
            with os.scandir(folder) as entries:
                folders += [Path(entry) for entry in entries if entry.is_dir() and entry.name[0] not in "_."]


def _may_list(folder: Path) -> bool:
    return os.access(folder, os.R_OK | os.X_OK)


def _listed_files(spark: SparkSession, source: DataFrame) -> pa.Table:
    """Return what Spark's listing has found: ``path``, ``url``, ``size_bytes`` and ``modified_at``.

    A query for the same would ask for the state of each file anew: on an object store, one request a file. It
    would also leave out files without a byte.
    """
    index: Any = source._jdf.queryExecution().analyzed().collectLeaves().head().relation().location()
    join = spark._jvm.org.apache.hadoop.util.StringUtils.join  # type: ignore[union-attr]
    # One long text crosses to Python faster than many short ones. URLs hold no line end, and no path a NUL.
    urls = join("\n", index.inputFiles())
    statuses = index.allFiles().mkString("\0")
    printed = pa.array(statuses.split("\0") if statuses else [], pa.large_string())
    found = pc.extract_regex(printed, _FILE_STATUS)
    milliseconds = pc.struct_field(found, "modified").cast(pa.int64())
    return pa.table(
        {
            "path": pc.struct_field(found, "path").cast(pa.string()),
            "url": pc.replace_substring_regex(
                pa.array(urls.split("\n") if urls else [], pa.string()), _LOCAL_URL, "file:/"
            ),
            "size_bytes": pc.struct_field(found, "length").cast(pa.int64()),
            "modified_at": milliseconds.cast(pa.timestamp("ms", "UTC")).cast(TIMESTAMP),
        }
    )


def _source(spark: SparkSession, root: str) -> DataFrame | None:
    """Return Spark's listing of the prefixes that are there: both, as a rule."""
    for prefixes in ((RECORDS_PREFIX, METADATA_PREFIX), (RECORDS_PREFIX,), (METADATA_PREFIX,)):
        if (source := _read_folders(spark, [f"{root}/{prefix}" for prefix in prefixes])) is not None:
            return source
    return None


def _chosen_source(spark: SparkSession, root: str, lake: str, selection: Selection) -> DataFrame | None:
    """Return Spark's listing of the folders of some organizations and syncs.

    Raises:
        LakeError: no organization, or no sync, of the selection is there; the message names those that are.

    """
    org_folders = list(_folders_in(spark, f"{root}/{RECORDS_PREFIX}"))
    fact_folders = list(_folders_in(spark, f"{root}/{METADATA_PREFIX}"))
    orgs = {name for name, _ in (*org_folders, *fact_folders)}
    if not orgs:
        return None
    folders = [folder for name, folder in fact_folders if name in (selection.orgs or orgs)]
    chosen = [folder for name, folder in org_folders if name in (selection.orgs or orgs)]
    if not folders and not chosen:
        raise LakeError(_nothing_chosen(lake, selection, "organizations", orgs))
    if not selection.syncs:
        return _read_folders(spark, chosen + folders)
    syncs = [sync for folder in chosen for sync in _folders_in(spark, folder)]
    of_syncs = [folder for name, folder in syncs if name in selection.syncs]
    if not of_syncs:
        raise LakeError(_nothing_chosen(lake, selection, "syncs", {name for name, _ in syncs}))
    return _read_folders(spark, of_syncs + folders)


def _nothing_chosen(lake: str, selection: Selection, level: str, names: set[str]) -> str:
    shown = ", ".join(sorted(names)[:_MAX_NAMED]) + (", and more" if len(names) > _MAX_NAMED else "")
    there_is = f"its {level} are {shown}" if names else f"it has no {level}"
    return _NOTHING_CHOSEN.format(selection=selection, lake=lake, there_is=there_is)


def _folders_in(spark: SparkSession, folder: str) -> Iterator[tuple[str, str]]:
    """List the names and the full paths of the folders in a folder; none if it is not there."""
    path: Any = spark._jvm.org.apache.hadoop.fs.Path(folder)  # type: ignore[union-attr]
    try:
        statuses = path.getFileSystem(spark._jsc.hadoopConfiguration()).listStatus(path)
    except Py4JJavaError as error:
        if "FileNotFoundException" in str(error):
            return
        raise
    for status in statuses:
        if status.isDirectory():
            found = status.getPath()
            yield found.getName(), found.toString()


def _read_folders(spark: SparkSession, folders: list[str]) -> DataFrame | None:
    """Return Spark's listing of some folders; None if one of them is not there."""
    reader = (
        spark.read.format("binaryFile")
        .option("recursiveFileLookup", "true")
        # A file that vanishes between listing and reading has no outcome, and is told by that.
        .option("ignoreMissingFiles", "true")
        # Names with *, ?, [], {} are names here, not patterns.
        .option("__globPaths__", "false")
    )
    if spark._jsc.hadoopConfiguration().get("fs.file.impl") is None:
        # A session with Iceberg keeps Hadoop's default, which spark_session tells of, for all but the lake.
        reader = reader.options(**{"fs.file.impl": RAW_FILES, "fs.file.impl.disable.cache": "true"})
    try:
        return reader.load(folders)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
    return None


def _listed_root(root: str, listed_path: str) -> str:
    """Return the root as the listing spells it (``hdfs:///x`` is listed with its host), with a slash."""
    head = _SCHEME_AND_AUTHORITY.match(listed_path)
    authority = head.group() if head else ""
    return f"{authority}{_SCHEME_AND_AUTHORITY.sub('', root)}/"
