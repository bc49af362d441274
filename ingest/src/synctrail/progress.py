"""Tells how a load goes: a bar on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

import structlog
from pyspark import SparkContext
from rich.console import Console, RenderableType
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
    """Where a command says what it does: in lines for people, or in JSON objects, one a line.

    Args:
        console: of standard error; a bar is drawn if it is a terminal.

    """

    def __init__(self, console: Console) -> None:
        self._console = console
        self._log: Any = None
        # FORCE_COLOR asks for colours, not for a bar in a log; a dumb terminal cannot redraw a line.
        self._draws = console.is_terminal and not console.is_dumb_terminal and console.file.isatty()

    def use_json(self, wanted: bool) -> None:
        """Tell JSON objects from now on: timestamp (UTC), level, event, message and what else is known."""
        processors: list[structlog.typing.Processor] = [
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.JSONRenderer(ensure_ascii=False),
        ]
        lines = structlog.WriteLogger(cast(TextIO, self._console.file))
        self._log = structlog.wrap_logger(lines, processors=processors) if wanted else None

    def say(self, message: str, event: str, **known: Any) -> None:
        """Tell one line, as it is and unbroken.

        Args:
            message: what people read.
            event: a name for what happened: what programs read.
            **known: its figures.

        """
        self._tell("info", message, event, known)

    def warn(self, message: str, event: str, **known: Any) -> None:
        """Tell one line of what somebody should look at."""
        self._tell("warning", message, event, known)

    def fail(self, message: str, *, exit_code: int) -> None:
        """Tell the error with which a command ends."""
        self._tell("error", message, "failed", {"exit_code": exit_code})

    def _tell(self, level: str, message: str, event: str, known: dict[str, Any]) -> None:
        if self._log is not None:
            getattr(self._log, level)(event, message=message, **known)
        else:
            self._console.print(Text(message, style="red" if level == "error" else ""), soft_wrap=True)

    def show(self, what: RenderableType) -> None:
        """Show a table."""
        self._console.print(what)

    @contextmanager
    def working(self, label: str, event: str, **known: Any) -> Iterator[None]:
        """Tell what goes on in the block; on a terminal, with a bar of Spark's tasks."""
        if self._log is not None or not self._draws:
            self.say(label, event, **known)
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
        self.say(label, event, **known)


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
