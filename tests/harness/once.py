"""What is made once in a run of the tests, however many processes share the work: a node, a built plugin.

The process that was started first owns the folder of the run; its workers find it in a variable.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from filelock import FileLock

VARIABLE = "KITPICK_TEST_RUN"
_STOP_SECONDS = 30


class Run:
    """The folder of a run, and what lies in it."""

    def __init__(self, folder: Path, *, owned: bool) -> None:
        self.folder = folder
        self._owned = owned

    def once(self, name: str, make: Callable[[], str]) -> str:
        """What `make` said when the first of all processes asked for `name`."""
        told = self.folder / hashlib.sha256(name.encode()).hexdigest()[:16]
        with FileLock(f"{told}.lock"):
            if not told.is_file():
                told.write_text(make(), "utf-8")
        return told.read_text("utf-8")

    def keep(self, pid: int, folder: Path) -> None:
        """A process group and its folder: both end with the run, not with the worker that began it."""
        (self.folder / f"{pid}.pid").write_text(str(folder), "utf-8")

    def end(self) -> None:
        """Ends what runs, and deletes the folder; in the process that began the run alone."""
        if not self._owned:
            return
        kept = {int(file.stem): file.read_text("utf-8") for file in self.folder.glob("*.pid")}
        living = list(kept)
        for number in (signal.SIGTERM, signal.SIGKILL):
            living = [pid for pid in living if _lives(pid) and _signalled(pid, number)]
            _wait(living)
        os.environ.pop(VARIABLE, None)
        for folder in (*kept.values(), self.folder):
            shutil.rmtree(folder, ignore_errors=True)


def this_run() -> Run:
    """The run that this process takes part in; the first one begins it."""
    found = os.environ.get(VARIABLE)
    if found:
        return Run(Path(found), owned=False)
    folder = Path(tempfile.mkdtemp(prefix="kitpick-tests-"))
    os.environ[VARIABLE] = str(folder)
    return Run(folder, owned=True)


def _signalled(pid: int, number: signal.Signals) -> bool:
    try:
        os.killpg(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _wait(pids: list[int]) -> None:
    limit = time.monotonic() + _STOP_SECONDS
    while time.monotonic() < limit and any(_lives(pid) for pid in pids):
        time.sleep(0.1)


def _lives(pid: int) -> bool:
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
