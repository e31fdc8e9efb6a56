"""A service that really runs: its own event loop in a thread, a real socket, the shipped models."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest
from commands import kitpick

from kitpick_service.core import Service
from kitpick_service.server import RescorerServer
from kitpick_service.settings import ServiceSettings

__all__ = ["kitpick"]


class Running:
    """Where a running service is, and the service itself."""

    def __init__(self, url: str, service: Service, server: RescorerServer) -> None:
        self.url = url
        self.service = service
        self._server = server

    def stop(self) -> None:
        """What a signal to stop does: returns at once."""
        self._server.should_exit = True

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def post(self, path: str, body: Any, **options: Any) -> httpx2.Response:
        raw = isinstance(body, (bytes, Iterator))
        given = {"content": body} if raw else {"json": body}
        return httpx2.post(self.url + path, **given, **{"timeout": 60, **options})

    def get(self, path: str, **options: Any) -> httpx2.Response:
        return httpx2.get(self.url + path, **{"timeout": 60, **options})


@contextmanager
def running(settings: ServiceSettings, listening: socket.socket | None = None) -> Iterator[Running]:
    service = Service(settings)
    listens = threading.Event()
    urls: list[str] = []

    def started(url: str) -> None:
        urls.append(url)
        listens.set()

    server = RescorerServer(service, started)
    sockets = None if listening is None else [listening]
    thread = threading.Thread(target=server.run, args=(sockets,), daemon=True)
    thread.start()
    assert listens.wait(300), "the server did not start"
    try:
        yield Running(urls[0], service, server)
    finally:
        server.should_exit = True
        thread.join(300)
        assert not thread.is_alive(), "the server did not end"


@pytest.fixture(scope="session")
def start() -> Any:
    """Starts a service with settings of a test's own, without a warm-up: `with start(keys=...) as service:`.

    It listens on a socket of the test's own, if there is one: `start(listening=socket)`.
    """
    cold = {"port": 0, "warm_up_seconds": 0}
    return lambda listening=None, **settings: running(ServiceSettings(**{**cold, **settings}), listening)


@pytest.fixture(scope="session")
def service(start: Any) -> Iterator[Running]:
    """A service with default settings, for all tests that do not change it."""
    with start() as found:
        yield found
