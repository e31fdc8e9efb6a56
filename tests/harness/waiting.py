"""Waits for what must happen, and finds a free port."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable


def eventually(condition: Callable[[], object], pause: float = 0.02) -> None:
    until = time.monotonic() + 300
    while not condition():
        assert time.monotonic() < until, "it did not happen"
        time.sleep(pause)


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def listens(port: int) -> bool:
    """Whether somebody listens on a port now."""
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
