"""Runs of `kitpick adapt` that the explain page starts: one at a time, each in a process that can be stopped.

The process has models of its own and gives way to the searches of the service. Its output is shown as it
comes, without folders and hosts.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from tempfile import TemporaryFile
from typing import IO, Literal, TypeAlias

from kitpick.ui.errors import AdaptUnderWay, NoAdapt
from kitpick.ui.protocol import AdaptBasis, AdaptState
from kitpick_foundation.places import HiddenPlaces
from kitpick_foundation.visible import printable

_LOG = logging.getLogger("kitpick.service")
_COMMAND = (sys.executable, "-m", "kitpick", "adapt")
_LINES = 40
"""Lines of a run's output that are kept."""
_LINE = 400
"""Characters of a line that are kept."""
_NICENESS = 10
_KILL_SECONDS = 5.0
_Outcome: TypeAlias = Literal["running", "done", "failed", "stopped"]


class AdaptRun:
    """One run: a process, and what it has said."""

    def __init__(self, by: AdaptBasis, process: subprocess.Popen[str], out: IO[str]) -> None:
        self.by = by
        self.process = process
        self.out = out
        self.outcome: _Outcome = "running"
        self.stopping = False
        self.said: tuple[str, ...] = ()
        """On standard error while it runs; on standard output once it is done."""

    def read(self) -> None:
        """Reads what it says until it ends."""
        assert self.process.stderr is not None
        with self.process.stderr as lines, self.out:
            for line in lines:
                self.said = (*self.said[1 - _LINES :], _shown(line))
            code = self.process.wait()
            if code == 0:
                self.out.seek(0)
                self.said = tuple(map(_shown, islice(self.out, _LINES)))
        self.outcome = "done" if code == 0 else "stopped" if self.stopping else "failed"

    def stop(self) -> None:
        """Ends it, where it still runs."""
        self.stopping = True
        self.process.terminate()


class AdaptRuns:
    """Starts and stops runs. Safe to use from several threads."""

    def __init__(
        self, environment: Mapping[str, str], places: HiddenPlaces, command: Sequence[str] = _COMMAND
    ) -> None:
        """`environment` is added to that of this process."""
        self._environment = {**os.environ, **environment, "PYTHONUTF8": "1", "NO_COLOR": "1"}
        self._places = places
        self._command = tuple(command)
        self._lock = threading.Lock()
        self._run: AdaptRun | None = None
        self._reader: threading.Thread | None = None

    def state(self) -> AdaptState:
        """How the run under way, or the last one, stands."""
        run = self._run
        if run is None:
            return AdaptState("none")
        outcome = run.outcome  # before the lines: those of a run that is done are whole
        lines = run.said[-1:] if outcome in {"running", "failed"} else run.said
        return AdaptState(outcome, run.by, tuple(map(self._places.hidden, lines)))

    def start(self, by: AdaptBasis, options: Sequence[str], audit: Mapping[str, object]) -> AdaptState:
        """Begins a run; `audit` goes to the log when it begins, and when it ends.

        Raises:
            AdaptUnderWay: one runs.
            NoAdapt: the process cannot be started.
        """
        with self._lock:
            if self._run is not None and self._run.outcome == "running":
                raise AdaptUnderWay
            run = AdaptRun(by, *self._started(options))
            _LOG.info("adapt began", extra={"by": by, **audit})
            self._run = run
            self._reader = threading.Thread(target=_follow, args=(run, dict(audit)), daemon=True)
            self._reader.start()
        return self.state()

    def stop(self, audit: Mapping[str, object]) -> AdaptState:
        """Ends the run under way, if there is one; its profile is not written."""
        run = self._run
        if run is not None and run.outcome == "running":
            _LOG.info("adapt is stopped", extra=dict(audit))
            run.stop()
        return self.state()

    def close(self) -> None:
        """Ends the run under way, and waits for its end."""
        with self._lock:
            run, reader = self._run, self._reader
        if run is None or reader is None:
            return
        run.stop()
        reader.join(_KILL_SECONDS)
        run.process.kill()
        reader.join(_KILL_SECONDS)

    def _started(self, options: Sequence[str]) -> tuple[subprocess.Popen[str], IO[str]]:
        out = TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115 - closed by its reader
        try:
            process = subprocess.Popen(  # noqa: S603 - no shell; each word is one argument
                [*self._command, *options], env=self._environment, stdin=subprocess.DEVNULL, stdout=out,
                stderr=subprocess.PIPE, text=True, encoding="utf-8", errors="replace",
            )  # fmt: skip
        except (OSError, ValueError) as error:  # such as a name that no command line can hold
            out.close()
            raise NoAdapt(f"`kitpick adapt` cannot be started: {error}") from error
        if sys.platform != "win32":
            _give_way(process.pid)
        return process, out


def _give_way(pid: int) -> None:
    """Lets searches of the service go first."""
    try:
        os.setpriority(os.PRIO_PROCESS, pid, _NICENESS)
    except OSError:  # it has ended already, or the system does not let us
        return


def _follow(run: AdaptRun, audit: dict[str, object]) -> None:
    started = time.monotonic()
    run.read()
    seconds = round(time.monotonic() - started, 1)
    _LOG.info("adapt ended", extra={"by": run.by, "outcome": run.outcome, "seconds": seconds, **audit})


def _shown(line: str) -> str:
    return printable(line.rstrip())[:_LINE]
