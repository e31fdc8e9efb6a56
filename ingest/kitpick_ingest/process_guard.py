"""A guard process: it ends the programs that this process started, if this one dies before it could.

A started server leads a group of processes, which is ended with its session. A killed process cannot do
that; the guard then notices that the other end of its standard input is gone, and ends the groups.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from kitpick_foundation.forks import fork_lock, renew_after_fork

_CODE = """
import os, signal, sys, time
groups = set()
for line in sys.stdin.buffer:
    (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
for sent in (signal.SIGTERM, signal.SIGKILL):
    for group in list(groups):
        try:
            os.killpg(group, sent)
        except OSError:
            groups.discard(group)
    time.sleep(1.0 if groups and sent == signal.SIGTERM else 0.0)
"""


class ProcessGuard:
    """One guard for all groups of this process; it runs as long as there is one.

    A forked child has a guard of its own. That of its parent must not wait for the child's end as well.
    """

    def __init__(self) -> None:
        self._lock = fork_lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._inherited: list[subprocess.Popen[bytes]] = []
        """Guards of the parent after a fork, kept so that nobody waits for them."""
        self._groups = 0
        renew_after_fork(self)

    def renew(self) -> None:
        """Lets go of the parent's guard; only for the child of a fork."""
        self._groups = 0
        if self._process is None:
            return
        if self._process.stdin is not None:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._process.stdin.fileno(), inheritable=False)
            os.close(nowhere)
        self._inherited.append(self._process)
        self._process = None

    @contextmanager
    def beside(self) -> Iterator[None]:
        """The guard runs; several may want it at a time. Where it cannot be started, there is none."""
        with self._lock:
            self._groups += 1
            if self._process is None:
                self._process = _started()
        try:
            yield
        finally:
            with self._lock:
                self._groups = max(0, self._groups - 1)  # a forked child begins at none
                if not self._groups and self._process is not None:
                    self._end(self._process)
                    self._process = None

    def watch(self, group: int) -> None:
        """The group is ended when this process is gone."""
        self._tell(f"+{group}\n")

    def forget(self, group: int) -> None:
        """The group is ended: its number may soon be another's."""
        self._tell(f"-{group}\n")

    def _tell(self, line: str) -> None:
        with self._lock, suppress(OSError):
            if self._process is not None and self._process.stdin is not None:
                self._process.stdin.write(line.encode())
                self._process.stdin.flush()

    @staticmethod
    def _end(process: subprocess.Popen[bytes]) -> None:
        with suppress(OSError, subprocess.TimeoutExpired):
            process.communicate(timeout=5.0)


def _started() -> subprocess.Popen[bytes] | None:
    if sys.platform == "win32" or not sys.executable:
        return None
    with suppress(OSError):
        return subprocess.Popen(  # noqa: S603 - our own interpreter and code
            [sys.executable, "-I", "-S", "-c", _CODE],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    return None


GUARD = ProcessGuard()
"""The guard of this process."""
