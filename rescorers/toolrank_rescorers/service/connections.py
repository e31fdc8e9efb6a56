"""Connections that wait for nobody for ever: uvicorn bounds how long idle ones are kept, and nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


class PatientProtocol(H11Protocol):
    """Closes connections that say nothing, that begin a head and do not end it, or that stop reading."""

    patience = 10.0
    """Seconds."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Waits for a head."""
        self._head, self._reader = _Timer(), _Timer()
        super().connection_made(transport)
        self._expect_head()

    def data_received(self, data: bytes) -> None:
        """A head that is complete is waited for no more."""
        super().data_received(data)
        if self.conn.their_state is h11.IDLE:
            self._expect_head()
        else:
            self._head.stop()

    def pause_writing(self) -> None:
        """The caller has not taken what was sent."""
        super().pause_writing()
        self._reader.start(self.patience, self.transport.abort)

    def resume_writing(self) -> None:
        """It goes on."""
        self._reader.stop()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        self._head.stop()
        self._reader.stop()
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._head.start(self.patience, self.transport.close)


class _Timer:
    """Runs something once, unless it is stopped before; to start it again while it runs changes nothing."""

    def __init__(self) -> None:
        self._handle: asyncio.TimerHandle | None = None

    def start(self, seconds: float, then: Callable[[], None]) -> None:
        if self._handle is None:
            self._handle = asyncio.get_running_loop().call_later(seconds, then)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None


def patient_for(seconds: float) -> type[H11Protocol]:
    """The protocol whose clients have so long to send a head, and to go on reading an answer."""
    return type("PatientProtocol", (PatientProtocol,), {"patience": seconds})
