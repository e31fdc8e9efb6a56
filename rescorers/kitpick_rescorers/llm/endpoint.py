"""An OpenAI-compatible endpoint: hosted, vLLM, Ollama, llama.cpp. Connects to nothing else."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from math import ceil
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from kitpick_foundation.decoding import convert_to, decode_as
from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.masking import masked
from kitpick_rescorers.llm.model import (
    CallFailed,
    Completion,
    LlmUnavailable,
    Message,
    tokens_in,
)
from kitpick_rescorers.loop_thread import LoopClient

if TYPE_CHECKING:
    from httpx2 import AsyncBaseTransport, AsyncClient

MAX_ANSWER_BYTES = 1024 * 1024
_RETRIED = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_REFUSALS = frozenset({400, 404, 422, 501})
"""How an endpoint may say that it does not know a field of the request."""
_SHOWN, _OK = 200, 200


class LlmSettings(msgspec.Struct, frozen=True):
    """Address and prices of a language model."""

    url: str
    """Up to and including the version: `https://api.example.com/v1`, `http://127.0.0.1:11434/v1`."""
    model: str
    key: str = ""
    prompt_price: float = 0.0
    """Per million tokens, in any currency."""
    completion_price: float = 0.0


class _ChatChoice(msgspec.Struct):
    message: dict[str, Any]
    logprobs: Any = None


class _PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class _ChatUsage(msgspec.Struct):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _PromptDetails | None = None


class ChatTurn(msgspec.Struct, frozen=True):
    """What a model said to a conversation with tools, and what it used."""

    message: dict[str, Any]
    """As the endpoint gave it: `content`, `tool_calls`."""
    prompt_tokens: int
    cached_tokens: int
    """Tokens of the prompt that the provider's cache served; 0 where the endpoint does not say."""
    completion_tokens: int
    cost: float
    logprobs: Any = None
    """As the endpoint gave them, if they were asked for."""


class _ChatResponse(msgspec.Struct):
    choices: list[_ChatChoice]
    usage: Any = None


class ChatEndpoint:
    """`POST {url}/chat/completions`. Safe to use from several threads; connections are kept."""

    def __init__(self, settings: LlmSettings, transport: AsyncBaseTransport | None = None) -> None:
        """Opens no connection yet. `transport` carries its requests in place of sockets of its own.

        Raises:
            MissingExtra: the package `httpx2` is not installed.
            LlmUnavailable: the address is none of HTTP.
        """
        if not settings.url.startswith(("http://", "https://")):
            raise LlmUnavailable("KITPICK_LLM_URL must begin with http:// or https://")
        if find_spec("httpx2") is None:
            raise MissingExtra("llm", "a language model")
        self._settings = settings
        self._schemas = True
        """Whether to ask for JSON of a schema: until the endpoint refuses it."""
        connect = partial(_connection, settings.key, transport)
        self._here = LoopClient("kitpick-llm", connect, lambda client: client.aclose())

    @property
    def identity(self) -> str:
        """Model and host."""
        return f"{self._settings.model}@{urlsplit(self._settings.url).hostname}"

    def complete(
        self, messages: tuple[Message, ...], *, max_tokens: int, schema: dict[str, Any] | None, seconds: float
    ) -> Completion:
        """Implements `LanguageModel`. Every failure of the endpoint becomes a `CallFailed`."""
        deadline = time.monotonic() + seconds
        body = self._question(messages, max_tokens)
        if schema is not None and self._schemas:
            form = {"name": "answer", "strict": True, "schema": schema}
            wanted = body | {"response_format": {"type": "json_schema", "json_schema": form}}
            status, data = self._post(wanted, deadline)
            if status not in _REFUSALS:
                return self._completion(status, data, messages)
            self._schemas = False
        return self._completion(*self._post(body, deadline), messages)

    def chat(
        self,
        messages: Sequence[dict[str, Any]],
        tools: Sequence[dict[str, Any]],
        *,
        max_tokens: int,
        seconds: float,
        wanted: Mapping[str, Any] | None = None,
    ) -> ChatTurn:
        """The model's next message in a conversation that may call tools.

        Messages are as the protocol has them, with tool calls and their answers; tools are in OpenAI's form.
        `wanted` are further fields of the call. The whole exchange takes so many seconds at most.

        Raises:
            CallFailed: every failure of the endpoint.
        """
        body = {"model": self._settings.model, "messages": list(messages), "max_tokens": max_tokens}
        body |= {"temperature": 0} | ({"tools": list(tools)} if tools else {}) | dict(wanted or {})
        choice, usage = _decoded(*self._post(body, time.monotonic() + seconds))
        used = usage or _ChatUsage(ceil(len(msgspec.json.encode(body)) / 4), 0)
        cached = (used.prompt_tokens_details or _PromptDetails()).cached_tokens or 0
        spent = used.prompt_tokens, cached, used.completion_tokens, self._cost(used)
        return ChatTurn(choice.message, *spent, choice.logprobs)

    def _question(self, messages: tuple[Message, ...], max_tokens: int) -> dict[str, Any]:
        return {
            "model": self._settings.model,
            "messages": [msgspec.structs.asdict(message) for message in messages],
            "max_tokens": max_tokens,
            "temperature": 0,
        }

    def _post(self, body: dict[str, Any], deadline: float) -> tuple[int, bytes]:
        import httpx2

        left = deadline - time.monotonic()
        if left <= 0:
            raise CallFailed("no time is left for another call")
        content = msgspec.json.encode(body)
        try:
            status, data = self._here.run(lambda client: self._exchanged(client, content, left))
            return status, data if status == _OK else self._without_key(data)
        except TimeoutError as error:
            raise CallFailed(f"no answer within {left:.3g} s") from error
        except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError) as error:
            raise CallFailed(f"{type(error).__name__}: {str(error)[:_SHOWN]}", retry_after=0.0) from error

    def _without_key(self, data: bytes) -> bytes:
        """What an endpoint says to a request that it refuses: it may repeat the key."""
        return masked(data.decode("utf-8", "replace"), (self._settings.key,)).encode()

    async def _exchanged(self, client: AsyncClient, content: bytes, seconds: float) -> tuple[int, bytes]:
        """Status and body of the answer: connecting, its head and its body all take so many seconds.

        Raises:
            TimeoutError: they took longer.
        """
        import anyio

        url = f"{self._settings.url.rstrip('/')}/chat/completions"
        headers = {"content-type": "application/json"}
        with anyio.fail_after(seconds):
            async with client.stream("POST", url, content=content, headers=headers) as response:
                if response.status_code in _RETRIED:
                    raise CallFailed(
                        f"HTTP {response.status_code}", retry_after=_retry_after(response.headers)
                    )
                return response.status_code, await _bounded(response.aiter_bytes())

    def _completion(self, status: int, data: bytes, messages: tuple[Message, ...]) -> Completion:
        choice, usage = _decoded(status, data)
        text = str(choice.message.get("content") or "")
        usage = usage or _estimated(messages, text)
        return Completion(text, usage.prompt_tokens, usage.completion_tokens, self._cost(usage))

    def _cost(self, usage: _ChatUsage) -> float:
        prices = self._settings
        cost = usage.prompt_tokens * prices.prompt_price + usage.completion_tokens * prices.completion_price
        return cost / 1e6


def _connection(key: str, transport: AsyncBaseTransport | None) -> AsyncClient:
    """A client without time limits of its own: they would bound every wait, and not the whole."""
    import httpx2

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    return httpx2.AsyncClient(headers=headers, follow_redirects=False, timeout=None, transport=transport)


def _decoded(status: int, data: bytes) -> tuple[_ChatChoice, _ChatUsage | None]:
    if status != _OK:
        raise CallFailed(f"HTTP {status}: {_excerpt(data)}")
    try:
        body = decode_as(data, _ChatResponse)
    except (ValueError, RecursionError) as error:
        what = f"the answer is no chat completion: {str(error)[:_SHOWN]}"
        raise CallFailed(what, retry_after=0.0) from error
    if not body.choices:
        raise CallFailed("the answer is no chat completion: it has no choices", retry_after=0.0)
    return body.choices[0], _told_usage(body.usage)


def _told_usage(told: object) -> _ChatUsage | None:
    """What an endpoint says it used; None where it says nothing, or no numbers: then tokens are estimated."""
    try:
        return convert_to(told, _ChatUsage)
    except msgspec.ValidationError:
        return None


def _excerpt(data: bytes) -> str:
    return data[:_SHOWN].decode("utf-8", "replace")


async def _bounded(chunks: AsyncIterator[bytes]) -> bytes:
    data = bytearray()
    async for chunk in chunks:
        data += chunk
        if len(data) > MAX_ANSWER_BYTES:
            raise CallFailed(f"the answer is larger than {MAX_ANSWER_BYTES:,} bytes")
    return bytes(data)


def _estimated(messages: tuple[Message, ...], text: str) -> _ChatUsage:
    """An estimate at four characters a token, for endpoints that do not count."""
    return _ChatUsage(tokens_in(messages), ceil(len(text) / 4))


def _retry_after(headers: Any) -> float:  # noqa: ANN401 - a mapping of the HTTP client
    given = str(headers.get("retry-after", ""))
    return float(given) if given.isdecimal() and len(given) < 5 else 0.0
