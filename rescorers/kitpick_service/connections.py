"""Time limits for connections of the service: uvicorn bounds only how long idle ones are kept."""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
from collections.abc import Callable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_NOT_A_MOMENT = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
"""For `SO_LINGER`: on, for 0 seconds."""
_GOODBYE_SECONDS = 0.3
"""How long a closed connection may take to end when the process stops: with TLS the peer says goodbye."""


class ConnectionCount:
    """Counts open connections."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.open = 0

    @property
    def too_many(self) -> bool:
        """Whether more connections are open than allowed; idle ones count."""
        return self.open > self.most


class PatientProtocol(H11Protocol):
    """Closes connections that are silent, that do not finish a request head, or that stop reading."""

    patience = 10.0
    """Seconds."""
    count = ConnectionCount(1)
    """Count of the service that it belongs to."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Starts the timer for the head."""
        self._head, self._reader, self._goodbye = _Timer(), _Timer(), _Timer()
        self._stopping = False
        self.count.open += 1
        super().connection_made(transport)
        # By default up to 64 KB may wait to be taken without a notice, and a close would wait with them. With
        # TLS the limit itself is beyond it, so that 0 would pause a connection that has nothing to send.
        transport.set_write_buffer_limits(high=1 if transport.get_extra_info("sslcontext") else 0)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Stops the timer when the head is complete."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_head()
        else:
            self._head.stop()

    def pause_writing(self) -> None:
        """Starts the timer for reading: the caller has not taken what was sent."""
        super().pause_writing()
        self._reader.start(self.patience, self._cut_off)

    def resume_writing(self) -> None:
        """Stops the timer for reading."""
        self._reader.stop()
        super().resume_writing()

    def shutdown(self) -> None:
        """Called when the process is to stop."""
        self._stopping = True
        super().shutdown()
        self._end()

    def on_response_complete(self) -> None:
        """Called when an answer has been sent."""
        super().on_response_complete()
        self._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stops all timers."""
        self._head.stop()
        self._reader.stop()
        self._goodbye.stop()
        self.count.open -= 1
        super().connection_lost(exc)

    def _end(self) -> None:
        if self._stopping and self.transport.is_closing():
            self._goodbye.start(_GOODBYE_SECONDS, self.transport.abort)

    def _cut_off(self) -> None:
        """Resets the connection: the system drops what it still holds of the answer.

        A connection that is only closed keeps up to four megabytes in the system, for minutes, until the
        caller takes them.
        """
        found = self.transport.get_extra_info("socket")
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOT_A_MOMENT)
        self.transport.abort()

    def _expect_head(self) -> None:
        self._head.start(self.patience, self.transport.close)


class _Timer:
    """A timer that runs a function once unless it is stopped; starting it again has no effect."""

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float, then: Callable[[], None]) -> None:
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_later(seconds, then)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def patient_for(seconds: float, count: ConnectionCount) -> type[H11Protocol]:
    """The protocol with a time limit for the head of a request and for reading the answer."""
    return type("PatientProtocol", (PatientProtocol,), {"patience": seconds, "count": count})
