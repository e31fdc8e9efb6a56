"""A real HTTP server that answers like an OpenAI-compatible endpoint, or as badly as a test says."""

from __future__ import annotations

import contextlib
import json
import math
import re
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

Answer = Callable[[dict[str, Any]], str]
FirstTokens = Callable[[dict[str, Any]], dict[str, float]]
"""Probabilities of the first tokens of an answer."""


class FakeEndpoint:
    """Counts what it is asked. `behaviours` are used up one a request; the last one stays."""

    def __init__(self, answer: Answer, behaviours: list[str], tokens: FirstTokens | None = None) -> None:
        self.answer = answer
        self.tokens = tokens
        self.behaviours = behaviours
        self.asked: list[dict[str, Any]] = []
        self.authorizations: list[str | None] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        handler = type("Handler", (_Handler,), {"fake": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self) -> FakeEndpoint:
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self.server.shutdown()
        self.server.server_close()

    def message(self, body: dict[str, Any]) -> dict[str, Any]:
        """The whole message of the behaviour `chat`: whoever calls tools overrides this."""
        return {"role": "assistant", "content": self.answer(body)}

    def next_behaviour(self, body: dict[str, Any]) -> str:
        with self.lock:
            self.asked.append(body)
            return self.behaviours.pop(0) if len(self.behaviours) > 1 else self.behaviours[0]


class _Handler(BaseHTTPRequestHandler):
    fake: FakeEndpoint

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.fake.authorizations.append(self.headers.get("authorization"))
        behaviour = self.fake.next_behaviour(body)
        if behaviour == "no schemas" and "response_format" in body:
            self.reply(400, b'{"error": {"message": "response_format is not supported"}}')
        elif behaviour == "logprobs refused" and "logprobs" in body:
            self.reply(400, b'{"error": {"message": "logprobs is not supported"}}')
        elif behaviour == "never":
            self.fake.released.wait(60)
        elif behaviour == "drip":
            self.drip()
        elif behaviour == "hang up":
            self.connection.close()
        elif behaviour == "busy":
            self.reply(429, b"later", {"retry-after": "0"})
        elif behaviour == "repeats the key":
            self.reply(401, f"no such key: {self.headers.get('authorization')}".encode())
        elif behaviour.isdigit():
            self.reply(int(behaviour), b'{"error": {"message": "no such thing"}}')
        else:
            self.reply(200, self.content(behaviour, body))

    def content(self, behaviour: str, body: dict[str, Any]) -> bytes:
        if behaviour == "chat":
            usage = {
                "prompt_tokens": 100,
                "completion_tokens": 10,
                "prompt_tokens_details": {"cached_tokens": 40},
            }
            return json.dumps({"choices": [{"message": self.fake.message(body)}], "usage": usage}).encode()
        judged = bool(body.get("logprobs"))
        text = "Yes" if judged else self.fake.answer(body)
        choice: dict[str, Any] = {"message": {"role": "assistant", "content": text}}
        if judged and self.fake.tokens:
            choice["logprobs"] = as_logprobs(self.fake.tokens(body))
        completion = json.dumps(
            {"choices": [choice], "usage": {"prompt_tokens": 100, "completion_tokens": 10}}
        ).encode()
        return {
            "html": b"<html><body>Welcome to the Wi-Fi</body></html>",
            "half": completion[: len(completion) // 2],
            "huge": b" " * 10_000_000 + completion,
            "empty": b"",
            "no choices": b'{"choices": []}',
            "null": b'{"choices": [{"message": {"content": null}, "finish_reason": "content_filter"}]}',
            "deep": b"[" * 100_000,
            "usage null": json.dumps({"choices": [choice], "usage": None}).encode(),
            "usage of nulls": json.dumps({"choices": [choice], "usage": {"prompt_tokens": None}}).encode(),
        }.get(behaviour, completion)

    def drip(self) -> None:
        self.send_response(200)
        self.end_headers()
        with contextlib.suppress(OSError):  # the client had enough of it
            while not self.fake.released.wait(0.05):
                self.wfile.write(b" ")
                self.wfile.flush()

    def reply(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "content-length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):  # the client had enough of it
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Keeps the test's output clean."""


def as_logprobs(probabilities: dict[str, float]) -> dict[str, Any]:
    """As the chat protocol gives them: the first token, and what it might have been."""
    top = [{"token": token, "logprob": math.log(mass)} for token, mass in probabilities.items()]
    return {"content": [{**max(top, key=lambda item: item["logprob"]), "top_logprobs": top}]}


def tools_in(body: dict[str, Any]) -> list[str]:
    """The descriptions that a request shows, in their order."""
    question = json.JSONDecoder().raw_decode(body["messages"][1]["content"])[0]
    return [tool["description"] for tool in question["tools"]]


def by_relevance(body: dict[str, Any]) -> str:
    """A perfect judge: a description's last number says how good it is."""
    worth = [-int(re.findall(r"\d+", text)[-1]) for text in tools_in(body)]
    order = sorted(range(len(worth)), key=worth.__getitem__)
    return json.dumps({"ranking": [place + 1 for place in order]})


@pytest.fixture
def fake() -> Iterator[Callable[..., FakeEndpoint]]:
    started: list[FakeEndpoint] = []

    def start(
        *behaviours: str, answer: Answer = by_relevance, tokens: FirstTokens | None = None
    ) -> FakeEndpoint:
        endpoint = FakeEndpoint(answer, list(behaviours) or ["well"], tokens)
        started.append(endpoint.__enter__())
        return endpoint

    yield start
    for endpoint in started:
        endpoint.__exit__()
