"""Tells how a load goes: a bar on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark import SparkContext
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.text import Text

_POLL_SECONDS = 0.25


class Reporter:
    """Where a load says what it does.

    Args:
        console: of standard error; a bar is drawn if it is a terminal.

    """

    def __init__(self, console: Console) -> None:
        self._console = console
        # FORCE_COLOR asks for colours, not for a bar in a log; a dumb terminal cannot redraw a line.
        self._draws = console.is_terminal and not console.is_dumb_terminal and console.file.isatty()

    def say(self, message: str) -> None:
        """Tell one line, as it is and unbroken."""
        self._console.print(Text(message), soft_wrap=True)

    @contextmanager
    def working(self, label: str) -> Iterator[None]:
        """Tell what goes on in the block; on a terminal, with a bar of Spark's tasks."""
        if not self._draws:
            self.say(label)
            yield
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self._console, transient=True) as progress, _polling(progress, label):
            yield
        self.say(label)


@contextmanager
def _polling(progress: Progress, label: str) -> Iterator[None]:
    """Bring the tasks of Spark's running stages into a bar, from a thread of its own."""
    bar = progress.add_task(label, total=None)
    done = threading.Event()

    def poll() -> None:
        while not done.wait(_POLL_SECONDS):
            context = SparkContext._active_spark_context
            if context is None:
                continue
            tracker = context.statusTracker()
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            running = [stage for stage in stages if stage is not None]
            if running:
                progress.update(
                    bar,
                    total=sum(stage.numTasks for stage in running),
                    completed=sum(stage.numCompletedTasks for stage in running),
                )

    thread = threading.Thread(target=poll, daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
