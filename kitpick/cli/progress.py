"""Progress of long work: bars with rate and remaining time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    ProgressColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import Progress as RichProgress
from rich.text import Text

from kitpick.cli.console import ERR, note
from kitpick_ingest.progress import Advance, LineProgress, Progress


class _Rate(ProgressColumn):
    """Items a second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:,.0f}/s" if task.speed else "", style="dim")


class TerminalProgress:
    """One bar a phase."""

    @contextmanager
    def phase(self, name: str, total: int | None) -> Iterator[Advance]:
        """A bar while the phase lasts; it stays on the screen when the phase ends."""
        columns = (
            TextColumn("{task.description:>9}"),
            BarColumn(bar_width=30),
            MofNCompleteColumn(),
            _Rate(),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
        )
        with RichProgress(*columns, console=ERR) as bars:
            task = bars.add_task(name, total=total)
            yield lambda count: bars.advance(task, count)
            if total is None:
                bars.update(task, total=bars.tasks[0].completed)

    def note(self, text: str) -> None:
        """A line between the bars."""
        note(text)


def progress() -> Progress:
    """The reporter that suits standard error."""
    return TerminalProgress() if ERR.is_terminal else LineProgress(sys.stderr)
