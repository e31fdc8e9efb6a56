"""The client for threads."""

from __future__ import annotations

import time
from importlib.util import find_spec
from types import TracebackType
from typing import Any

from toolrank_rescorers.client.breaker import Breaker
from toolrank_rescorers.client.conversation import PATH, Conversation, Reply
from toolrank_rescorers.client.errors import MissingClient
from toolrank_rescorers.client.settings import ClientSettings
from toolrank_rescorers.profiles import DEFAULT_PROFILE, Profile
from toolrank_rescorers.request import Rescored, RescoreRequest

_DEFAULT = ClientSettings()


class RescorerClient:
    """Asks a rescorer service. Safe to use from several threads; connections are kept."""

    def __init__(self, url: str, key: str = "", settings: ClientSettings = _DEFAULT) -> None:
        """A client of the service at `url`, such as `http://rescorer:8080`.

        Raises:
            MissingClient: the HTTP package is not installed.
        """
        connecting = connection(url, key, settings)
        import httpx2

        self._settings = settings
        self._breaker = Breaker(settings.failures, settings.rest)
        self._errors = httpx2.HTTPError
        self._http = httpx2.Client(**connecting)

    def rescore(
        self, request: RescoreRequest, profile: Profile | str = DEFAULT_PROFILE, vector_model: str = ""
    ) -> Rescored:
        """What `toolrank_rescorers.pipeline.rescore` would answer in this process.

        `vector_model` is the identity of the model behind the request's vectors.

        Raises:
            Refused: the service will not answer this request.
            Unreachable: it did not answer in time, or its circuit is open.
        """
        conversation = Conversation(self._settings, request, profile, vector_model)
        while True:
            settled = conversation.settle(self._try(conversation))
            if isinstance(settled, Rescored):
                return settled
            time.sleep(settled)

    def _try(self, conversation: Conversation) -> Reply:
        body = conversation.body()
        try:
            with self._breaker.attempt():
                response = self._http.post(PATH, content=body, timeout=max(conversation.left, 0.001))
        except self._errors as error:
            return Reply.nothing(error)
        reply = Reply.of(response)
        (self._breaker.failed if reply.failed else self._breaker.succeeded)()
        return reply

    def close(self) -> None:
        """Closes its connections."""
        self._http.close()

    def __enter__(self) -> RescorerClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def connection(url: str, key: str, settings: ClientSettings) -> dict[str, Any]:
    """How a client of httpx2 of either kind connects: to this URL, whatever proxies the environment names.

    Raises:
        MissingClient: the HTTP package is not installed.
    """
    if find_spec("httpx2") is None:
        raise MissingClient
    import httpx2

    headers = {"content-type": "application/json"}
    if key:
        headers["authorization"] = f"Bearer {key}"
    limits = httpx2.Limits(max_connections=settings.connections)
    return {"base_url": url, "headers": headers, "limits": limits, "trust_env": False}
