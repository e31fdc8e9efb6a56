"""The server process: sockets, signals, orderly shutdown."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import math
import os
import platform
import signal
import socket
import threading
from collections.abc import Callable

import uvicorn

from kitpick_foundation.errors import InvalidSetting
from kitpick_service.app import Addition, application
from kitpick_service.connections import patient_for
from kitpick_service.core import Service
from kitpick_service.settings import ServiceSettings

_LOG = logging.getLogger("kitpick.service")
_LAST_SECONDS = 5
"""Seconds to send errors to the callers of cancelled requests."""
_MAX_HEADER_BYTES = 32 * 1024
_KEEP_ALIVE_SECONDS = 75
"""Longer than the pools of common clients and proxies, so that it is they who close."""


class RescorerServer(uvicorn.Server):
    """uvicorn, with a notice to the service when it should stop accepting requests."""

    def __init__(
        self, service: Service, started: Callable[[str], None], addition: Addition | None = None
    ) -> None:
        """Ready to run.

        Raises:
            InvalidSetting: the certificate or its key cannot be used.
        """
        super().__init__(_loaded(_configuration(service, addition), service.settings))
        self._service = service
        self._tell = started

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens, and reports the address."""
        await super().startup(sockets)
        self._tell(self._url())

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Waits a while for the requests in progress, then stops the queues."""
        gate = self._service.gate
        gate.drain()
        seconds = self._service.settings.drain_seconds
        patience = asyncio.get_running_loop().call_later(seconds, gate.give_up)
        await super().shutdown(sockets)
        patience.cancel()
        self._service.close()

    def _url(self) -> str:
        host, port = self.servers[0].sockets[0].getsockname()[:2]
        scheme = "https" if self._service.settings.tls_certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def serve(service: Service, started: Callable[[str], None], addition: Addition | None = None) -> None:
    """Serves until a signal stops it; SIGHUP loads the models again.

    `started` is called with the URL once it listens; `addition` stands beside the service's own paths.
    """
    if hasattr(signal, "SIGHUP"):
        signal.signal(
            signal.SIGHUP, lambda *_: threading.Thread(target=_reload, args=(service,), daemon=True).start()
        )
    RescorerServer(service, started, addition).run()


def _reload(service: Service) -> None:
    try:
        service.reload()
    except Exception as error:  # noqa: BLE001 - whatever it is, the old models go on serving
        _LOG.error("the models were not reloaded: %s: %s", type(error).__name__, error)
        return
    _LOG.info("reloaded", extra={role: info.identity for role, info in service.models.info().items()})


def _loaded(configuration: uvicorn.Config, settings: ServiceSettings) -> uvicorn.Config:
    try:
        configuration.load()
    except OSError as error:
        files = " and ".join(filter(None, (settings.tls_certificate, settings.tls_key)))
        raise InvalidSetting(f"tls_certificate, tls_key: {files}: cannot be used: {error}") from error
    return configuration


def _configuration(service: Service, addition: Addition | None) -> uvicorn.Config:
    settings = service.settings
    return uvicorn.Config(
        application(service, addition),
        host=settings.host,
        port=settings.port,
        http=patient_for(settings.body_seconds, service.connections),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=_MAX_HEADER_BYTES,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=math.ceil(settings.drain_seconds) + _LAST_SECONDS,
        ssl_certfile=settings.tls_certificate or None,
        ssl_keyfile=settings.tls_key or None,
    )


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8
"""Parameters of glibc's `mallopt`."""
_ARENAS = 2
_LARGE = 128 * 1024
"""glibc's own thresholds at the start; it raises them, up to 32 and 64 MiB, as large blocks are freed."""


def steady_memory() -> bool:
    """Limits the arenas of glibc and has it return large blocks. To be called before threads start.

    By itself it gives threads up to eight arenas a core. Requests are worked on by many threads in turn, so
    each arena grows to the worst it has met, is never emptied, and the process grows for hours. Two arenas
    cost no speed here: models take their tensors from a pool of their own.

    Returns:
        Whether it was: not on other C libraries, nor where `MALLOC_ARENA_MAX` or `GLIBC_TUNABLES` is set.
    """
    if platform.libc_ver()[0] != "glibc" or {"MALLOC_ARENA_MAX", "GLIBC_TUNABLES"} & set(os.environ):
        return False
    mallopt = ctypes.CDLL(None).mallopt
    wanted = {_ARENA_MAX: _ARENAS, _MMAP_THRESHOLD: _LARGE, _TRIM_THRESHOLD: _LARGE}
    return all(mallopt(parameter, value) for parameter, value in wanted.items())
