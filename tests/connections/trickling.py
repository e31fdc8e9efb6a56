"""A server on a real socket that sends the beginning of an answer, and from then on a byte now and then."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STARTS = {
    "body": b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n",
    "head": b"HTTP/1.1 200 OK\r\nx-slow: ",
    "status": b"HTTP/1.1 200 ",
}
"""Beginnings of an answer, by the part of it that then trickles."""


@contextmanager
def trickling(start: bytes) -> Iterator[str]:
    """Where a server listens that sends this, and from then on a space every 50 ms."""
    listener = socket.create_server(("127.0.0.1", 0))
    done = threading.Event()

    def talk(connection: socket.socket) -> None:
        with connection:
            connection.recv(65_536)
            try:
                connection.sendall(start)
                while not done.wait(0.05):
                    connection.sendall(b" ")
            except OSError:
                return

    def accept() -> None:
        while not done.is_set():
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        done.set()
        listener.close()
