"""The first calls of a fresh process may come from many threads at once, at every public door."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from sizes import sized

from kitpick.catalog import Catalog
from kitpick_models.errors import CorruptModel
from kitpick_rescorers.model_loader import Once

pytestmark = [pytest.mark.needs("weights", "onnxruntime"), pytest.mark.sweep]

FRESH = int(sized("KITPICK_FRESH_PROCESSES", 1, 30))
"""Fresh processes for each door."""
CALLS = 16

_THREADS = """
import sys, threading
from kitpick import Catalog
catalog, start, said = Catalog.open(sys.argv[1]), threading.Barrier(16), []
def use(number):
    start.wait()
    found = catalog.search(f"send a mail to person {number}", k=3)
    best = found.hits[0].id
    catalog.feedback(found.id, [best], client=f"client{number}")
    said.append((best, len(list(catalog.documents())), len(catalog.after(best, 2))))
threads = [threading.Thread(target=use, args=(number,)) for number in range(16)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert len(said) == 16 and len(set(said)) == 1, said
"""
_GATHERED = """
import asyncio, sys
from kitpick import Catalog
async def use():
    with Catalog.open(sys.argv[1]) as catalog:
        found = await asyncio.gather(*(catalog.asearch(f"send a mail to person {n}", k=3) for n in range(16)))
    assert len({answer.hits[0].id for answer in found}) == 1
asyncio.run(use())
"""


@pytest.fixture
def url(catalog: Catalog) -> str:
    return catalog.settings.catalog


@pytest.mark.parametrize("script", [_THREADS, _GATHERED], ids=["threads", "gather"])
def test_of_the_sdk(url: str, script: str) -> None:
    for _ in range(FRESH):
        command = [sys.executable, "-c", script, url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
        assert done.returncode == 0, done.stderr[-2000:]


_TIMED_OUT = """
import signal, sys
from kitpick import Catalog
class OutOfTime(Exception): pass
def end(*_): raise OutOfTime
signal.signal(signal.SIGALRM, end)
catalog, ended = Catalog.open(sys.argv[1]), 0
for number in range(60):
    signal.setitimer(signal.ITIMER_REAL, 0.005 + 0.01 * number)
    try:
        catalog.search(f"send {number} mails", k=1)
    except OutOfTime:
        ended += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
catalog.search("send a mail")  # after an interrupted load whose error was taken for the model's
found = catalog.search("send a mail", k=1)
assert ended and not found.degraded and found.hits[0].document.api == "send_email", (ended, found)
"""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timers")
def test_a_search_that_a_signal_ended_spoils_no_later_one(url: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _TIMED_OUT, url], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize(("failures", "outcome"), [(0, "model"), (1, "model"), (2, "damaged")])
def test_what_failed_once_is_loaded_again_and_what_failed_twice_is_not(failures: int, outcome: str) -> None:
    attempts: list[int] = []

    def load() -> str:
        attempts.append(1)
        if len(attempts) <= failures:
            raise CorruptModel(Path("model"), "damaged")
        return "model"

    model = Once(load)
    for _ in range(failures):
        with pytest.raises(CorruptModel):
            model.get()
    for _ in range(2):
        if outcome == "model":
            assert model.get() == "model"
        else:
            with pytest.raises(CorruptModel, match=outcome):
                model.get()
    assert len(attempts) == min(failures + 1, 2)


@contextmanager
def _running(*arguments: str, **pipes: int) -> Iterator[subprocess.Popen[str]]:
    """A command of ours; it is ended whatever happens."""
    program = [sys.executable, "-c", "from kitpick.cli import main; main()"]
    with subprocess.Popen([*program, *arguments], text=True, **pipes) as process:  # type: ignore[call-overload]
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.needs("mcp")
def test_of_the_mcp_server(url: str) -> None:
    for _ in range(FRESH):
        with _running("mcp", "-c", url, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
            assert server.stdin is not None
            assert server.stdout is not None
            server.stdin.write("".join(json.dumps(message) + "\n" for message in _messages()))
            server.stdin.flush()
            answers = [json.loads(server.stdout.readline()) for _ in range(CALLS + 1)]
            server.stdin.close()
            assert server.wait(300) == 0
        assert {answer["id"] for answer in answers} == set(range(CALLS + 1))
        assert not [answer for answer in answers if answer.get("error") or answer["result"].get("isError")]


def _messages() -> Iterator[dict[str, object]]:
    begin = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    yield {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": begin}
    yield {"jsonrpc": "2.0", "method": "notifications/initialized"}
    for number in range(1, CALLS + 1):
        asked = {"name": "search_tools", "arguments": {"query": f"send a mail to person {number}"}}
        yield {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked}


@pytest.mark.needs("serve")
def test_of_the_service(url: str) -> None:
    pairs = {
        "query": "send a mail",
        "candidates": [{"id": "a", "text": "send a mail", "lexical": {"rank": 1}}],
    }
    calls = [("/v1/tools/search", {"query": "send a mail"}), ("/v1/rescore", pairs)] * (CALLS // 2)
    paths, bodies = zip(*calls, strict=True)
    options = ("--port", "0", "--tools", "--catalog", url, "--set", "warm_up_seconds=0")
    for _ in range(FRESH):
        with _running("serve", *options, stderr=subprocess.PIPE) as server:
            assert server.stderr is not None
            address = server.stderr.readline().split()[2]
            with ThreadPoolExecutor(CALLS) as pool:
                statuses = list(pool.map(_post, [address + path for path in paths], bodies))
            server.terminate()
            server.stderr.read()
            assert server.wait(300) in (0, -15)
        assert statuses == [200] * CALLS


def _post(url: str, body: object) -> int:
    request = Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    try:
        with urlopen(request, timeout=120) as answer:
            status: int = answer.status
            return status
    except HTTPError as error:
        raise AssertionError(error.read()) from error
