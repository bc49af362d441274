"""What the benchmarks share: figures, the folder that they work in, memory."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

CHECKOUT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Figure:
    """One line of the report."""

    what: str
    ours: str
    yardstick: str
    ratio: str = ""
    limit: str = ""


def show(figures: list[Figure]) -> None:
    """Print the figures as a table."""
    table = Table("what", "Synctrail", "yardstick", "ratio", "at most")
    for figure in figures:
        table.add_row(figure.what, figure.ours, figure.yardstick, figure.ratio, figure.limit)
    Console(width=140).print(table)


def options_with_work(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=CHECKOUT / ".cache", help="where to work")
    return parser


@contextmanager
def folder_in(work: Path) -> Iterator[Path]:
    """Give a new folder in ``work`` that is removed at the end."""
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="benchmark-", dir=work)).resolve()
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def peak_mb(process: str | int = "self") -> int:
    """Return the most memory that a process and its descendants have had so far, in MB; Linux only.

    It is the sum of each one's own peak; a process that has ended counts nothing.
    """
    folder = Path(f"/proc/{process}")
    try:
        status = (folder / "status").read_text().splitlines()
        children = [child for task in folder.glob("task/*/children") for child in task.read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    own = next((int(line.split()[1]) // 1024 for line in status if line.startswith("VmHWM:")), 0)
    return own + sum(map(peak_mb, children))


def peak_of_command(
    command: Sequence[str | Path], cwd: Path, environment: Mapping[str, str], output: Path
) -> int:
    """Run a command and return the most memory that it and its descendants had, in MB.

    Args:
        command: program and arguments.
        cwd: where it runs.
        environment: its environment variables.
        output: the file for what it prints, which is shown if it fails.

    Raises:
        SystemExit: it failed.

    """
    with output.open("w") as file:
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=file, stderr=file)
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_mb(process.pid))
            time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{output.read_text()}")
    return peak
