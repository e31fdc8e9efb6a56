"""The client for event loops."""

from __future__ import annotations

from types import TracebackType

from toolrank_rescorers.client.breaker import Breaker
from toolrank_rescorers.client.conversation import PATH, Conversation, Reply
from toolrank_rescorers.client.settings import ClientSettings
from toolrank_rescorers.client.synchronous import connection
from toolrank_rescorers.profiles import DEFAULT_PROFILE, Profile
from toolrank_rescorers.request import Rescored, RescoreRequest

_DEFAULT = ClientSettings()


class AsyncRescorerClient:
    """Asks a rescorer service without blocking the event loop; connections are kept."""

    def __init__(self, url: str, key: str = "", settings: ClientSettings = _DEFAULT) -> None:
        """A client of the service at `url`; raises like `RescorerClient`."""
        connecting = connection(url, key, settings)
        import httpx2

        self._settings = settings
        self._breaker = Breaker(settings.failures, settings.rest)
        self._errors = httpx2.HTTPError
        self._http = httpx2.AsyncClient(**connecting)

    async def rescore(
        self, request: RescoreRequest, profile: Profile | str = DEFAULT_PROFILE, vector_model: str = ""
    ) -> Rescored:
        """As `RescorerClient.rescore`; raises like it."""
        import anyio

        conversation = Conversation(self._settings, request, profile, vector_model)
        while True:
            settled = conversation.settle(await self._try(conversation))
            if isinstance(settled, Rescored):
                return settled
            await anyio.sleep(settled)

    async def _try(self, conversation: Conversation) -> Reply:
        body = conversation.body()
        try:
            with self._breaker.attempt():
                response = await self._http.post(PATH, content=body, timeout=max(conversation.left, 0.001))
        except self._errors as error:
            return Reply.nothing(error)
        reply = Reply.of(response)
        (self._breaker.failed if reply.failed else self._breaker.succeeded)()
        return reply

    async def close(self) -> None:
        """Closes its connections."""
        await self._http.aclose()

    async def __aenter__(self) -> AsyncRescorerClient:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
