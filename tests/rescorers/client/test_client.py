"""The client against services that misbehave, each a real server on a real socket."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from trickling import STARTS, trickling

from kitpick_engines.contract import Candidate, Place
from kitpick_rescorers.request import Rescored, RescoreRequest
from kitpick_service.client import (
    AsyncRescorerClient,
    CircuitOpen,
    ClientSettings,
    Refused,
    RescorerClient,
    Unreachable,
)
from kitpick_service.client.clients import Breaker

pytestmark = pytest.mark.needs("serve")
REQUEST = RescoreRequest(
    "q",
    [Candidate("a", "", "t", "a", "text", np.ones(2, np.float32), Place(1, 0.5), intent=Place(2, 0.3))],
    intent_trust=0.25,
    vector_model="m@1",
)
ANSWER = {
    "request_id": "1",
    "profile": "rerank",
    "results": [{"id": "a", "rank": 1, "score": 0.1, "probability": None, "reasons": []}],
    "models": {},
    "timings": {},
}
QUICK = ClientSettings(deadline=20, backoff=0.001)


def error(code: str) -> dict[str, Any]:
    return {"error": {"code": code, "message": "no", "request_id": "1"}}


class Scripted:
    """Answers in turn: (status, body, headers); the last one for ever."""

    def __init__(self, *answers: tuple[int, Any, dict[str, str]]) -> None:
        self.answers = list(answers)
        self.asked: list[Any] = []
        self.pause = 0.0


@contextmanager
def serving(script: Scripted) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            script.asked.append((json.loads(body), dict(self.headers)))
            time.sleep(script.pause)
            status, answer, headers = script.answers.pop(0) if len(script.answers) > 1 else script.answers[0]
            content = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in {**headers, "content-length": str(len(content))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


def ask(url: str, settings: ClientSettings, asynchronous: bool, times: int = 1) -> list[Rescored]:
    """The same question so often, by either client."""
    if not asynchronous:
        with RescorerClient(url, "key", settings) as client:
            return [client.rescore(REQUEST, "rerank") for _ in range(times)]

    async def go() -> list[Rescored]:
        async with AsyncRescorerClient(url, "key", settings) as client:
            return [await client.rescore(REQUEST, "rerank") for _ in range(times)]

    return asyncio.run(go())


@pytest.fixture(params=[False, True], ids=["sync", "async"])
def asynchronous(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def test_it_sends_key_deadline_and_model(asynchronous: bool) -> None:
    script = Scripted((200, ANSWER, {}))
    with serving(script) as url:
        answers = ask(url, QUICK, asynchronous)
    body, headers = script.asked[0]
    assert [hit.id for hit in answers[0].results] == ["a"]
    assert 0 < body["deadline_ms"] <= 20_000
    assert body["vector_model"] == "m@1"
    assert body["candidates"][0]["intent"] == {"rank": 2, "score": 0.3}
    assert body["intent_trust"] == 0.25
    assert {name.lower(): value for name, value in headers.items()}["authorization"] == "Bearer key"


@pytest.mark.parametrize("status", [429, 503])
def test_it_tries_again_where_another_try_may_help(asynchronous: bool, status: int) -> None:
    script = Scripted((status, error("overloaded"), {"retry-after": "0"}), (200, ANSWER, {}))
    with serving(script) as url:
        ask(url, QUICK, asynchronous)
    assert len(script.asked) == 2


@pytest.mark.parametrize(("status", "code"), [(401, "unauthorized"), (422, "invalid"), (504, "deadline")])
def test_it_does_not_ask_again_what_was_refused(asynchronous: bool, status: int, code: str) -> None:
    script = Scripted((status, error(code), {}))
    with serving(script) as url, pytest.raises(Refused) as refusal:
        ask(url, QUICK, asynchronous)
    assert (refusal.value.status, refusal.value.code) == (status, code)
    assert len(script.asked) == 1


def test_tries_are_bounded(asynchronous: bool) -> None:
    script = Scripted((429, error("overloaded"), {}))
    with serving(script) as url, pytest.raises(Refused):
        ask(url, QUICK, asynchronous)
    assert len(script.asked) == 3


def test_it_does_not_wait_beyond_its_deadline(asynchronous: bool) -> None:
    script = Scripted((200, ANSWER, {}))
    script.pause = 30.0
    started = time.perf_counter()
    with serving(script) as url:
        with pytest.raises(Unreachable):
            ask(url, ClientSettings(deadline=0.2), asynchronous)
        assert time.perf_counter() - started < 20


@pytest.mark.parametrize("given", ["\u00b2", "-5", "1.5e300", "9" * 5_000, "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_retry_after_that_is_no_number_of_seconds_harms_nothing(asynchronous: bool, given: str) -> None:
    script = Scripted((503, error("overloaded"), {"retry-after": given}))
    with serving(script) as url, pytest.raises(Refused, match="overloaded"):
        ask(url, ClientSettings(deadline=60, tries=2, backoff=0.01), asynchronous)


def test_a_retry_after_beyond_the_deadline_is_not_waited_for(asynchronous: bool) -> None:
    script = Scripted((429, error("overloaded"), {"retry-after": "60"}))
    with serving(script) as url, pytest.raises(Refused):
        ask(url, QUICK, asynchronous)
    assert len(script.asked) == 1


@pytest.mark.parametrize("content", [b"<html>", b"{}", b"\xff"])
def test_what_is_no_rescorer_is_told_apart(asynchronous: bool, content: bytes) -> None:
    with (
        serving(Scripted((200, content, {}))) as url,
        pytest.raises(Unreachable, match="no answer of a rescorer"),
    ):
        ask(url, QUICK, asynchronous)


def answering(**changes: Any) -> bytes:
    return json.dumps({**ANSWER, **changes}).encode()


HIT = ANSWER["results"][0]  # type: ignore[index]


@pytest.mark.parametrize(
    "content",
    [
        answering(results=[{**HIT, "id": "forged"}]),
        answering(results=[HIT] * 5),
        answering(results=[{**HIT, "probability": 7.5}]),
        answering(results=[{**HIT, "probability": -0.1}]),
        answering(need={"neighbours": {"vector": "AAAA", "k": 10**9}}),
        b'{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
    ids=["forged", "twice", "likelier than sure", "less likely than never", "a billion neighbours", "nested"],
)
def test_an_answer_about_something_else_is_none(asynchronous: bool, content: bytes) -> None:
    with serving(Scripted((200, content, {}))) as url, pytest.raises(Unreachable):
        ask(url, QUICK, asynchronous)


def test_an_answer_is_bounded(asynchronous: bool) -> None:
    bomb = gzip.compress(answering(profile="x" * 50_000_000))
    with serving(Scripted((200, bomb, {"content-encoding": "gzip"}))) as url:  # noqa: SIM117
        with pytest.raises(Unreachable, match="compressed"):
            ask(url, QUICK, asynchronous)
    with serving(Scripted((200, answering(profile="x" * 100_000), {}))) as url:  # noqa: SIM117
        with pytest.raises(Unreachable, match="larger than 50,000"):
            ask(url, ClientSettings(max_answer_bytes=50_000), asynchronous)


@pytest.mark.parametrize("start", STARTS.values(), ids=STARTS)
def test_a_service_that_trickles_is_given_up_in_time(asynchronous: bool, start: bytes) -> None:
    started = time.perf_counter()
    with trickling(start) as url, pytest.raises(Unreachable, match="TimeoutError"):
        ask(url, ClientSettings(deadline=0.5, tries=1), asynchronous)
    assert time.perf_counter() - started < 20, "it would go on for an hour and a half"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_asks_with_a_loop_of_its_own() -> None:
    with serving(Scripted((200, ANSWER, {}))) as url, RescorerClient(url, settings=QUICK) as client:
        client.rescore(REQUEST)
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            os._exit(0 if client.rescore(REQUEST).results else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_nobody_there(asynchronous: bool) -> None:
    with pytest.raises(Unreachable, match="cannot be reached"):
        ask("http://127.0.0.1:9", QUICK, asynchronous)


def test_a_service_that_fails_is_left_alone() -> None:
    script = Scripted((500, error("internal"), {}))
    with serving(script) as url, RescorerClient(url, settings=ClientSettings(failures=2, rest=60)) as client:
        for _ in range(2):
            with pytest.raises(Refused):
                client.rescore(REQUEST)
        with pytest.raises(CircuitOpen, match="2 times in a row"):
            client.rescore(REQUEST)
    assert len(script.asked) == 2


def test_callers_who_go_away_say_nothing_of_the_service() -> None:
    script = Scripted((200, ANSWER, {}))
    script.pause = 0.2
    settings = ClientSettings(failures=2, rest=60)

    async def go(url: str) -> Rescored:
        async with AsyncRescorerClient(url, settings=settings) as client:
            for _ in range(3):
                asked = asyncio.create_task(client.rescore(REQUEST))
                await asyncio.sleep(0.05)
                asked.cancel()
                await asyncio.wait([asked])
            return await client.rescore(REQUEST)

    with serving(script) as url:
        assert [hit.id for hit in asyncio.run(go(url)).results] == ["a"]


def test_one_who_tries_an_open_circuit_and_goes_away_leaves_it_to_the_next() -> None:
    now = [0.0]
    breaker = Breaker(failures=1, rest=5.0, clock=lambda: now[0])
    _attempts(breaker, [False])
    now[0] = 6.0
    for _ in range(2):
        with pytest.raises(asyncio.CancelledError), breaker.attempt():
            raise asyncio.CancelledError
    _attempts(breaker, [True, True])


def test_an_open_circuit_lets_one_request_try() -> None:
    now = [0.0]
    breaker = Breaker(failures=1, rest=5.0, clock=lambda: now[0])
    _attempts(breaker, [False])
    with pytest.raises(CircuitOpen):
        breaker.enter()
    now[0] = 6.0
    breaker.enter()
    with pytest.raises(CircuitOpen):
        breaker.enter()
    breaker.succeeded()
    _attempts(breaker, [True, True])


def _attempts(breaker: Breaker, outcomes: Sequence[bool]) -> None:
    for good in outcomes:
        breaker.enter()
        (breaker.succeeded if good else breaker.failed)()
