"""The clients of a rescorer service: one for event loops, one for threads, and one that ranks for a search.

A service that fails is left alone for a while, and its callers do not wait for it (a circuit breaker).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.forks import fork_lock
from kitpick_rescorers import DEFAULT_PROFILE
from kitpick_rescorers.loop_thread import LoopClient
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_rescorers.state import Degradation
from kitpick_service.client.conversation import (
    PATH,
    CircuitOpen,
    ClientSettings,
    Conversation,
    Refused,
    Reply,
    Unreachable,
)

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport


class Breaker:
    """Closed while all is well, open after `failures` in a row; after `rest` seconds one request may try.

    (Nygard, Release It!, 2007.) Safe to use from several threads.
    """

    def __init__(self, failures: int, rest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._most = failures
        self._rest = rest
        self._clock = clock
        self._lock = fork_lock()
        self._failures = 0
        self._closed_at = 0.0
        self._trying = False

    def enter(self) -> None:
        """Checks that a request may be sent.

        Raises:
            CircuitOpen: it may not.
        """
        with self._lock:
            if self._failures < self._most:
                return
            left = self._closed_at - self._clock()
            if left > 0 or self._trying:
                raise CircuitOpen(
                    f"the rescorer failed {self._failures} times in a row: next try in {max(left, 0):.1f} s"
                )
            self._trying = True

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """A context for one request: it counts as failed if it ends with an exception.

        That its caller goes away says nothing of the service.
        """
        self.enter()
        try:
            yield
        except Exception:
            self.failed()
            raise
        except BaseException:
            self._given_up()
            raise

    def succeeded(self) -> None:
        """Records that the service answered."""
        with self._lock:
            self._failures, self._trying = 0, False

    def _given_up(self) -> None:
        with self._lock:
            self._trying = False

    def failed(self) -> None:
        """Records that the service did not answer, or could not do its work."""
        with self._lock:
            self._failures += 1
            self._trying = False
            if self._failures >= self._most:
                self._closed_at = self._clock() + self._rest


_DEFAULT = ClientSettings()


class AsyncRescorerClient:
    """Asks a rescorer service without blocking the event loop; connections are kept."""

    def __init__(
        self,
        url: str,
        key: str = "",
        settings: ClientSettings = _DEFAULT,
        transport: AsyncBaseTransport | None = None,
    ) -> None:
        """A client of the service at `url`, such as `http://rescorer:8080`.

        `transport` carries its requests in place of sockets of its own, such as one that fails for a test.

        Raises:
            MissingExtra: the HTTP package is not installed.
        """
        if find_spec("httpx2") is None:
            raise MissingExtra("client", "a rescorer service")
        import httpx2

        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        self._settings = settings
        self._breaker = Breaker(settings.failures, settings.rest)
        self._errors = httpx2.HTTPError
        # No time limits of its own: they would bound every wait, and not the whole.
        self._http = httpx2.AsyncClient(
            base_url=url,
            headers=headers,
            limits=httpx2.Limits(max_connections=settings.connections),
            trust_env=False,
            timeout=None,
            transport=transport,
        )

    async def rescore(self, request: RescoreRequest, profile: Profile | str = DEFAULT_PROFILE) -> Rescored:
        """Like `RescorerClient.rescore`."""
        import anyio

        conversation = Conversation(self._settings, request, profile)
        while True:
            settled = conversation.settle(await self._try(conversation))
            if isinstance(settled, Rescored):
                return settled
            await anyio.sleep(settled)

    async def _try(self, conversation: Conversation) -> Reply:
        import anyio

        body = conversation.body()
        try:
            with self._breaker.attempt(), anyio.fail_after(conversation.left):
                reply = await self._exchanged(body)
        except (self._errors, TimeoutError) as error:
            return Reply.nothing(error)
        (self._breaker.failed if reply.failed else self._breaker.succeeded)()
        return reply

    async def _exchanged(self, body: bytes) -> Reply:
        """The whole answer of the service."""
        most = self._settings.max_answer_bytes
        async with self._http.stream("POST", PATH, content=body) as response:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise Unreachable("the rescorer's answer is compressed, and none that is was asked for")
            content = bytearray()
            async for chunk in response.aiter_raw():
                content += chunk
                if len(content) > most:
                    raise Unreachable(f"the rescorer's answer is larger than {most:,} bytes")
        return Reply(response.status_code, bytes(content), response.headers.get("retry-after", ""))

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncRescorerClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class RescorerClient:
    """Asks a rescorer service. Safe to use from several threads; connections are kept."""

    def __init__(
        self,
        url: str,
        key: str = "",
        settings: ClientSettings = _DEFAULT,
        transport: AsyncBaseTransport | None = None,
    ) -> None:
        """Like `AsyncRescorerClient`."""
        opening = partial(AsyncRescorerClient, url, key, settings, transport)
        self._here = LoopClient("kitpick-client", opening, AsyncRescorerClient.close)
        self._here.start()

    def rescore(self, request: RescoreRequest, profile: Profile | str = DEFAULT_PROFILE) -> Rescored:
        """The same answer as that of `kitpick_rescorers.pipeline.rescore` in this process.

        Raises:
            Refused: the service will not answer this request.
            Unreachable: it did not answer in time, or its circuit is open.
        """
        return self._here.run(lambda client: client.rescore(request, profile))

    def close(self) -> None:
        """Closes its connections."""
        self._here.close()

    def __enter__(self) -> RescorerClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class RemoteRescorer:
    """A service, with answers equal to those of the same models in this process.

    When it does not answer, the stages run here without models: the first-stage order, and the answer says
    why.
    """

    def __init__(self, client: RescorerClient) -> None:
        self._client = client

    def __call__(self, request: RescoreRequest, profile: Profile) -> Rescored:
        """Ranks the candidates.

        Raises:
            Refused: the request, or its key, is not one the service takes.
        """
        try:
            return self._client.rescore(request, profile)
        except Unreachable as error:
            return _without_models(request, profile, error)
        except Refused as error:
            if not error.is_temporary:
                raise
            return _without_models(request, profile, error)

    def close(self) -> None:
        """Closes its connections."""
        self._client.close()


def _without_models(request: RescoreRequest, profile: Profile, error: Exception) -> Rescored:
    rescored = rescore(request, profile, Models())
    return replace(rescored, degraded=(Degradation("rescorer", str(error)), *rescored.degraded))
