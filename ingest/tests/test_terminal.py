"""What a load shows on a terminal: a bar while it works, and the same last lines as anywhere else."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
from pathlib import Path

from commands import SCRIPTS, SMALL
from lakes import Lake, record_columns

_COLUMNS = 200
# By these, rich takes a terminal for something else.
_OVERRIDES = {"COLUMNS", "LINES", "NO_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"}
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def load_on_a_terminal(project: Path, lake: Lake) -> tuple[int, str]:
    """Load with a terminal for all of its output; return the exit code and every byte that was shown."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 50, _COLUMNS, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in _OVERRIDES}
    with subprocess.Popen(
        [SCRIPTS / "synctrail", "load", str(lake.root), *SMALL],
        cwd=project,
        env={**environment, "DBT_PROFILES_DIR": str(project), "TERM": "xterm"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        start_new_session=True,
    ) as process:
        os.close(theirs)
        shown = b"".join(iter(lambda: _read(ours), b""))
        os.close(ours)
    return process.returncode, shown.decode()


def _read(terminal: int) -> bytes:
    """Read what there is; nothing once no process has the terminal any more."""
    try:
        return os.read(terminal, 1 << 16)
    except OSError:
        return b""


def test_a_terminal_shows_a_bar_with_a_count_and_then_the_outcome(project, lake):
    for number in range(30):
        lake.records(f"1/22/{number}", "a.0.parquet", record_columns([f"user-{number}"] * 100))
    code, shown = load_on_a_terminal(project, lake)
    assert code == 0, shown
    plain = _CONTROL.sub("", shown)
    assert re.search(r"reading 30 new files, \d\.\d MB [━╸╺]+ +\d+/\d+ \d:\d\d:\d\d", plain)
    lines = [line.rpartition("\x1b[2K")[2] for line in shown.splitlines()]
    *_, outcome, row = (plain_line for line in lines if (plain_line := _CONTROL.sub("", line)))
    assert re.fullmatch(r"loaded 3,000 rows from 30 files, in \d+\.\d s", outcome)
    assert json.loads(row)["rows_loaded"] == 3000
    # The bars are gone and the cursor is back.
    assert shown.rindex("\x1b[?25h") > shown.rindex("\x1b[?25l")
    assert not re.search("[━╸╺]", shown[shown.rindex("\x1b[2K") :])
