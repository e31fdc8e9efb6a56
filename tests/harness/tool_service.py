"""`kitpick serve --tools` as a process of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

SERVE = [sys.executable, "-c", "from kitpick.cli import main; main()", "serve", "--port", "0", "--tools"]
SERVE += ["--set", "warm_up_seconds=0"]


@contextmanager
def serving_tools(*arguments: str) -> Iterator[str]:
    """URL of `kitpick serve --tools`."""
    command = [*SERVE, *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert "kitpick serves" in first, first
        try:
            yield first.split()[2]
        finally:
            process.send_signal(signal.SIGTERM)
