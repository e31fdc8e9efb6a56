"""What we started ends with us, and a forked child neither waits for our guard nor keeps it waiting."""

from __future__ import annotations

import os
import select
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
_LOCKED = """
import os, threading
from kitpick_ingest.process_guard import ProcessGuard
guard, held, free = ProcessGuard(), threading.Event(), threading.Event()
def hold():
    with guard._lock:
        held.set()
        free.wait()
with guard.beside():
    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    child = os.fork()
    if not child:
        with guard.beside():
            os._exit(0 if guard._process not in (None, *guard._inherited) else 3)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    free.set()
    thread.join()
"""
_OUTLIVED = """
import os, subprocess, sys
from kitpick_ingest.process_guard import ProcessGuard
guard = ProcessGuard()
with guard.beside():
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    guard.watch(started.pid)
    if not os.fork():
        os.close(1)
        sys.stdin.read()  # lives until the test ends
    os._exit(0)
"""
LONG = 120.0
"""Seconds for what takes two."""


def test_a_child_begins_with_a_guard_of_its_own_whoever_held_that_of_the_parent() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _LOCKED], capture_output=True, text=True, timeout=LONG, check=True
    )
    assert done.stdout.split() == ["0"]


def test_what_was_started_ends_with_its_parent_though_a_forked_child_lives_on() -> None:
    command = [sys.executable, "-c", _OUTLIVED]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.wait(LONG) == 0
        ended, _, _ = select.select([process.stdout], [], [], LONG)
        assert ended, "the started process still holds its standard output"
        assert process.stdout is not None
        assert process.stdout.read() == b""
