"""What is loaded, what is quarantined and why: the answer of ``synctrail status``."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from synctrail import contract
from synctrail.warehouses.base import Warehouse

_LAG_COLUMNS = (
    "org_id",
    "sync_id",
    "newest_in_lake_at",
    "newest_loaded_at",
    "lag_seconds",
    "files_waiting",
    "bytes_waiting",
)
_SHOWN_LOADS = 5
_SHOWN_QUARANTINED = 50


@dataclass(frozen=True)
class Status:
    """The state of the staging tables.

    ``loaded`` has one row per org, sync and kind of file, ``quarantined`` one per file, ``loads`` the last
    loads, the newest first, ``lag`` one per sync of the lake, if that was compared.
    """

    loaded: list[dict[str, Any]]
    quarantined: list[dict[str, Any]]
    loads: list[dict[str, Any]]
    lag: list[dict[str, Any]] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the status as plain JSON values."""
        parts = {"loaded": self.loaded, "quarantined": self.quarantined, "loads": self.loads}
        if self.lag is not None:
            parts["lag"] = self.lag
        return {name: [plain(row) for row in rows] for name, rows in parts.items()}


def read_status(warehouse: Warehouse, lag: list[dict[str, Any]] | None = None) -> Status:
    """Read the ledger and the history of a warehouse; ``lag`` is that of each sync, if it is known."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = defaultdict(list)
    quarantined = []
    for file in warehouse.files().to_pylist():
        if file["status"] == contract.QUARANTINED:
            quarantined.append({name: file[name] for name in ("path", "reason", "detail", "loaded_at")})
        elif file["status"] == contract.LOADED:
            groups[file["org_id"], file["sync_id"] or "", file["kind"]].append(file)
    loaded = [
        {
            "org_id": org_id,
            "sync_id": sync_id or None,
            "kind": kind,
            "files": len(files),
            "rows": sum(file["row_count"] or 0 for file in files),
            "newest_file_at": max(file["modified_at"] for file in files),
            "last_loaded_at": max(file["loaded_at"] for file in files),
        }
        for (org_id, sync_id, kind), files in sorted(groups.items())
    ]
    loads = warehouse.history().to_pylist()[-_SHOWN_LOADS:][::-1]
    return Status(loaded, sorted(quarantined, key=lambda file: str(file["path"])), loads, lag)


def plain(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row as JSON values: times as ISO 8601 in UTC."""
    return {name: _text_of_time(value) for name, value in row.items()}


def show(status: Status) -> RenderableType:
    """Return the status as tables for a terminal."""
    if not status.loads and status.lag is None:
        return "nothing is loaded yet; begin with: synctrail load LAKE"
    parts: list[RenderableType] = []
    if status.lag is not None:
        parts.append(table("Lag", status.lag, _LAG_COLUMNS))
    parts += [
        table(
            "Loaded",
            status.loaded,
            ("org_id", "sync_id", "kind", "files", "rows", "newest_file_at", "last_loaded_at"),
        ),
        table(
            "Last loads",
            status.loads,
            (
                "started_at",
                "status",
                "files_seen",
                "files_loaded",
                "files_quarantined",
                "rows_loaded",
                "lake",
            ),
        ),
    ]
    if status.quarantined:
        shown = status.quarantined[:_SHOWN_QUARANTINED]
        title = f"Quarantined: {len(status.quarantined):,} files"
        parts.append(table(title, shown, ("path", "reason", "detail")))
        if len(shown) < len(status.quarantined):
            parts.append(f"and {len(status.quarantined) - len(shown):,} more; --json shows all")
    return Group(*parts)


def table(title: str, rows: list[dict[str, Any]], columns: tuple[str, ...]) -> Table:
    """Return some columns of rows as a table for a terminal."""
    shown = Table(title=title, title_justify="left")
    for column in columns:
        is_number = any(isinstance(row[column], int) for row in rows)
        shown.add_column(column.replace("_", " "), justify="right" if is_number else "left", overflow="fold")
    for row in rows:
        shown.add_row(*(_cell(row[column]) for column in columns))
    return shown


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, dt.datetime):
        return f"{value:%Y-%m-%d %H:%M:%S}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("[", "\\[")


def _text_of_time(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.datetime) else value
