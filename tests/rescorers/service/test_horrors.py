"""What a service meets in the open: each gets its error in time, and the next good request is served."""

from __future__ import annotations

import base64
import gzip
import json
import math
import os
import socket
import struct
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import msgspec
import psutil
import pytest
from waiting import eventually

from kitpick_service.app import ENDPOINTS
from kitpick_service.dialect import Endpoint

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
PATH = "/v1/rescore"
GOOD = {"query": "weather", "candidates": [{"id": "a", "text": "weather of a city"}], "profile": "rerank"}


@pytest.fixture(scope="module")
def target(start: Any) -> Iterator[Any]:
    with start(body_seconds=60, deadline_seconds=60) as found:
        yield found


@pytest.fixture(scope="module")
def hasty(start: Any) -> Iterator[Any]:
    """One that soon gives up a caller that sends or reads nothing."""
    with start(body_seconds=4.0, deadline_seconds=60) as found:
        yield found


@pytest.fixture(autouse=True)
def _serves_on(target: Any) -> Iterator[None]:
    yield
    assert target.post(PATH, GOOD).status_code == 200
    eventually(lambda: target.service.gate.bytes == 0)


def raw(target: Any, *parts: bytes, pause: float = 0.0, seconds: float = 30.0) -> bytes:
    """Sends bytes as they are; the answer until the service closes the connection."""
    with socket.create_connection(("127.0.0.1", target.port), timeout=seconds) as connection:
        for part in parts:
            connection.sendall(part)
            time.sleep(pause)
        return rest(connection)


def rest(connection: socket.socket) -> bytes:
    """What comes until the connection is closed."""
    received = bytearray()
    with suppress(ConnectionResetError):
        take(connection, received)
    return bytes(received)


def take(connection: socket.socket, received: bytearray) -> None:
    """Appends what comes until the connection is closed."""
    while chunk := connection.recv(65_536):
        received += chunk


def head(length: int) -> bytes:
    fields = f"host: x\r\nconnection: close\r\ncontent-length: {length}\r\n"
    return f"POST {PATH} HTTP/1.1\r\n{fields}\r\n".encode()


def code(answer: Any) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize(
    ("body", "status", "name"),
    [
        (b"", 400, "malformed"),
        (b"{", 400, "malformed"),
        (b"[" * 200_000, 422, "invalid"),
        (b'{"x":' * 50_000, 422, "invalid"),
        (b'{"query": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422, "invalid"),
        (b'{"query": "\xff\xfe", "candidates": []}', 400, "malformed"),
        (b'{"query": NaN, "candidates": []}', 400, "malformed"),
        (b'{"query": "q", "candidates": [], "k": 1e400}', 422, "invalid"),
        (b'{"query": "q", "candidates": [], "k": -1}', 422, "invalid"),
        (b'{"query": "q", "candidates": [{"id": "", "text": ""}]}', 422, "invalid"),
        (b'{"query": "q", "candidates": [{"id": "a", "text": "a", "vector": "AAA"}]}', 422, "invalid"),
        (
            b'{"query": "q", "candidates": [], "profile": {"name": "x", "stages": [{"stage": "rm"}]}}',
            422,
            "invalid",
        ),
        (b'{"query": "q", "candidates": [], "profile": "/etc/passwd"}', 404, "not_found"),
    ],
)
def test_bodies_that_are_no_requests(target: Any, body: bytes, status: int, name: str) -> None:
    assert code(target.post(PATH, body)) == (status, name)


ASKED = [endpoint for endpoint in ENDPOINTS if endpoint.request is not None]
HORRORS = {
    "nothing": b"",
    "half": b'{"query": "q", "documents": ["a"',
    "no UTF-8": b'{"query": "\xff\xfe", "inputs": "\xff", "input": "\xff"}',
    "deep": b"[" * 200_000,
    "too large": b'{"query": "' + b"word " * (4 * 2**20) + b'"}',
    "ten thousand": json.dumps(
        {"query": "q", "model": "encoder-pair", "candidates": [{"id": "a", "text": ""}] * 10_001}
        | dict.fromkeys(("documents", "texts", "inputs", "input"), ["a"] * 10_001)
    ).encode(),
    "wrong types": b'{"query": 1, "candidates": 1, "documents": 1, "texts": 1, "inputs": 1, "input": 1}',
    "another query": b'{"query": ["q"]}',
}


@pytest.mark.parametrize("horror", sorted(HORRORS))
@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.path)
def test_every_dialect_words_every_horror_its_own_way(target: Any, endpoint: Endpoint, horror: str) -> None:
    answer = target.post(endpoint.path, HORRORS[horror])
    assert answer.status_code in {400, 413, 422}
    msgspec.json.decode(answer.content, type=endpoint.dialect.error_type, strict=True)


@pytest.mark.parametrize("endpoint", ASKED, ids=lambda endpoint: endpoint.path)
def test_every_dialect_words_a_deadline_and_a_bomb(target: Any, endpoint: Endpoint) -> None:
    bomb = gzip.compress(bytes(20 * 2**20))
    answer = target.post(endpoint.path, bomb, headers={"content-encoding": "gzip"})
    assert answer.status_code == 413
    msgspec.json.decode(answer.content, type=endpoint.dialect.error_type)
    late = target.post(endpoint.path, b"{}", headers={"x-deadline-ms": "0"})
    assert late.status_code == 504
    msgspec.json.decode(late.content, type=endpoint.dialect.error_type)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("where", ["vector", "candidate"])
def test_vectors_that_are_no_numbers(target: Any, value: float, where: str) -> None:
    coded = base64.b64encode(struct.pack("<2f", 1.0, value)).decode()
    candidate = {"id": "a", "text": "a", **({"vector": coded} if where == "candidate" else {})}
    body = {"query": "q", "candidates": [candidate], **({"vector": coded} if where == "vector" else {})}
    answer = target.post(PATH, body)
    assert code(answer) == (422, "invalid")
    assert "NaN or infinity" in answer.json()["error"]["message"]


def test_a_document_nested_too_deep(target: Any) -> None:
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    answer = target.post("/v1/rerank", b'{"query": "q", "documents": [' + deep + b"]}")
    assert answer.status_code == 400
    assert set(answer.json()) == {"message", "detail"}


def test_more_candidates_than_there_may_be(target: Any) -> None:
    candidates = [{"id": str(n), "text": "t"} for n in range(10_001)]
    assert code(target.post(PATH, {"query": "q", "candidates": candidates})) == (422, "invalid")
    answer = target.post(PATH, {"query": "q", "candidates": candidates[:10_000]})
    assert answer.status_code == 200
    assert len(answer.json()["results"]) == 10


def test_a_document_of_twenty_megabytes(target: Any) -> None:
    text = "word " * (4 * 2**20)
    assert code(target.post(PATH, {**GOOD, "candidates": [{"id": "a", "text": text}]})) == (413, "too_large")


def test_a_document_of_ten_megabytes_costs_no_more_than_a_page(target: Any) -> None:
    text = "word " * (2 * 2**20)
    started = time.process_time()
    assert target.post(PATH, {**GOOD, "candidates": [{"id": "a", "text": text}]}).status_code == 200
    assert time.process_time() - started < 5, "of the processor, for both sides"


def test_empty_strings_and_ids_twice(target: Any) -> None:
    candidates = [{"id": "a", "text": ""}, {"id": "a", "text": "again"}, {"id": "b", "text": " \x00 "}]
    answer = target.post(PATH, {"query": "", "candidates": candidates})
    assert sorted(hit["id"] for hit in answer.json()["results"]) == ["a", "b"]


@pytest.mark.parametrize("value", [b"[]", b"{}", b'"a"', b'{"a":1.5}', b"[[[[[[[[]]]]]]]]"])
def test_a_body_of_millions_of_values_is_not_decoded(target: Any, value: bytes) -> None:
    """Decoded it would be twenty times its size, and would keep the interpreter for seconds."""
    start, end = b'{"query": "q", "documents": [{"a": [', b"]}]}"
    body = start + b",".join([value] * ((15 * 2**20) // (len(value) + 1))) + end
    before = psutil.Process().memory_info().rss
    answer = target.post("/v1/rerank", body)
    assert answer.status_code == 413
    assert "values" in answer.json()["detail"]
    assert psutil.Process().memory_info().rss - before < 200 * 2**20


def test_prose_is_no_list_of_values(target: Any) -> None:
    text = 'well, "yes", [no], {so} \\ ' * 40_000
    answer = target.post("/rerank", {"query": "q", "texts": [text] * 8, "raw_scores": True})
    assert answer.status_code == 200


def test_a_caller_that_stops_reading_is_cut_off(hasty: Any) -> None:
    """Its answer is held, and counted, no longer than a slow body would be."""
    eventually(lambda: hasty.service.connections.open == 0)
    before = answers_of(hasty)
    with deaf(hasty) as connection:
        connection.sendall(rerank("word " * 10**6, "word " * 10**6))
        eventually(lambda: answers_of(hasty) > before)
        eventually(lambda: hasty.service.connections.open == 0)
        eventually(lambda: hasty.service.gate.bytes == 0)
        assert len(rest(connection)) < 10**7


def test_what_was_sent_to_a_caller_that_stops_reading_is_not_kept(hasty: Any) -> None:
    """The system would keep up to four megabytes of it, for minutes after the connection was closed."""
    eventually(lambda: hasty.service.connections.open == 0)
    before = answers_of(hasty)
    with deaf(hasty) as connection:
        connection.sendall(rerank("word " * 10**6))
        eventually(lambda: answers_of(hasty) > before)
        eventually(lambda: hasty.service.connections.open == 0)
        with pytest.raises(ConnectionResetError):
            take(connection, bytearray())


def test_the_end_of_an_answer_that_nobody_takes_keeps_no_connection_open(start: Any) -> None:
    """However little of it the service still holds, and although the caller said that it is done sending."""
    with socket.socket() as narrow:
        narrow.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4_096)
        narrow.bind(("127.0.0.1", 0))
        with start(listening=narrow, body_seconds=0.5) as target, deaf(target) as connection:
            connection.sendall(rerank("word " * 8_000))
            eventually(lambda: answers_of(target) > 0)
            connection.shutdown(socket.SHUT_WR)
            eventually(lambda: target.service.connections.open == 0)


def deaf(target: Any) -> socket.socket:
    """A connection with little room for answers."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", target.port))
    return connection


def rerank(*texts: str) -> bytes:
    """A request whose answer holds the texts."""
    body = json.dumps({"query": "q", "texts": texts, "return_text": True}).encode()
    return f"POST /rerank HTTP/1.1\r\nhost: x\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body


def answers_of(target: Any) -> float:
    """How many `/rerank` requests were answered so far."""
    labels = {"path": "/rerank", "status": "200"}
    return target.service.metrics.registry.get_sample_value("kitpick_answers_total", labels) or 0.0


def test_a_gzip_bomb(target: Any) -> None:
    bomb = gzip.compress(bytes(300 * 2**20))
    before = psutil.Process().memory_info().rss
    answer = target.post(PATH, bomb, headers={"content-encoding": "gzip"})
    assert code(answer) == (413, "too_large")
    assert psutil.Process().memory_info().rss - before < 150 * 2**20


def test_what_follows_a_compressed_body_is_not_kept(target: Any) -> None:
    """Nothing announces how long it is, and none of it would count as a body."""
    behind = [gzip.compress(json.dumps(GOOD).encode()), *([bytes(2**16)] * 160)]
    for _ in range(2):  # what the first of them needs once is no part of it
        before = psutil.Process().memory_info().rss
        answer = target.post(PATH, iter(behind), headers={"content-encoding": "gzip"})
        assert code(answer) == (400, "malformed")
    assert psutil.Process().memory_info().rss - before < 8 * 2**20


def test_a_compressed_body_that_says_nothing_for_long(target: Any) -> None:
    """Blocks of no bytes are valid, and decompress to nothing however many there are."""
    head_and_nothing = [gzip.compress(b"")[:10], *([b"\x00\x00\x00\xff\xff" * 2**14] * 220)]
    answer = target.post(PATH, iter(head_and_nothing), headers={"content-encoding": "gzip"})
    assert code(answer) == (413, "too_large")


def test_compressed_requests_are_read(target: Any) -> None:
    body = gzip.compress(json.dumps(GOOD).encode())
    assert target.post(PATH, body, headers={"content-encoding": "gzip"}).status_code == 200


@pytest.mark.parametrize(
    ("body", "encoding", "status"),
    [
        (b"no gzip", "gzip", 400),
        (gzip.compress(b"{}" * 99, mtime=0)[:-9], "gzip", 400),
        (zlib.compress(b"{}"), "br", 415),
    ],
)
def test_broken_compression(target: Any, body: bytes, encoding: str, status: int) -> None:
    assert target.post(PATH, body, headers={"content-encoding": encoding}).status_code == status


def test_a_body_that_trickles_in(hasty: Any) -> None:
    assert raw(hasty, head(1_000), *([b"{"] * 3), pause=0.05).startswith(b"HTTP/1.1 408")


def test_a_body_that_is_announced_too_large_is_not_read(target: Any) -> None:
    assert raw(target, head(10**12)).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/v1/nothing", b"", b"404"),
        (PATH, b"content-encoding: br\r\n", b"415"),
        ("/v2/rerank", b"content-encoding: br\r\n", b"415"),
    ],
)
def test_a_refusal_arrives_though_the_body_comes_after_it(
    target: Any, path: str, fields: bytes, status: bytes
) -> None:
    """A connection that were closed at once would be reset by the body, and the answer lost with it."""
    body = b"x" * 2**22
    start = (
        f"POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {len(body)}\r\n".encode()
    )
    with socket.create_connection(("127.0.0.1", target.port), timeout=30) as connection:
        connection.sendall(start + fields + b"\r\n")
        time.sleep(0.2)
        connection.sendall(body)
        answer = bytearray()
        while chunk := connection.recv(65_536):
            answer += chunk
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert answer.endswith(b"}")


def test_a_refusal_waits_for_no_body_that_does_not_come(target: Any) -> None:
    with socket.create_connection(("127.0.0.1", target.port), timeout=30) as connection:
        connection.sendall(head(10**12))
        answer = connection.recv(65_536)
        assert answer.startswith(b"HTTP/1.1 413"), "who waits for a body says 408 in the end"
        assert rest(connection).count(b"HTTP") == 0


def test_half_a_request_and_a_closed_socket(target: Any) -> None:
    for part in (b"POST", head(1_000), head(1_000) + b'{"query"', b"\x16\x03\x01\x02\x00"):
        with socket.create_connection(("127.0.0.1", target.port), timeout=10) as connection:
            connection.sendall(part)
            connection.shutdown(socket.SHUT_WR)
    assert target.get("/health/live").status_code == 200, "the next is answered"


@pytest.mark.parametrize("value", [b"\xb2", b"\xff\xfe", b"-1", b"1e9", b"", b"9" * 9_000, b"00-0-0-zz"])
@pytest.mark.parametrize(
    "name", [b"x-deadline-ms", b"x-request-id", b"authorization", b"traceparent", b"content-type", b"accept"]
)
def test_headers_that_make_no_sense(target: Any, name: bytes, value: bytes) -> None:
    """Are read as if they had not been sent."""
    body = json.dumps(GOOD).encode()
    fields = b"host: x\r\nconnection: close\r\n" + name + b": " + value + b"\r\n"
    request = f"POST {PATH} HTTP/1.1\r\ncontent-length: {len(body)}\r\n".encode() + fields + b"\r\n" + body
    assert raw(target, request).startswith(b"HTTP/1.1 200")


def test_headers_without_end(target: Any) -> None:
    flood = b"GET /health/live HTTP/1.1\r\n" + b"x: y\r\n" * 200_000
    assert raw(target, flood[: 200 * 1024]).startswith(b"HTTP/1.1 4")


def test_a_header_that_never_comes(hasty: Any) -> None:
    """A connection that says nothing, or not enough, is closed and holds no memory."""
    assert raw(hasty, b"POST /v1/rescore HTTP/1.1\r\nhost: x\r\n") == b""
    assert raw(hasty) == b""


def test_a_wrong_path_and_a_wrong_method(target: Any) -> None:
    assert code(target.get("/v1/nothing")) == (404, "not_found")
    assert code(target.get(PATH)) == (405, "method_not_allowed")


def test_many_horrors_at_once_leave_nothing_behind(target: Any) -> None:
    """Broken requests side by side: the process keeps its memory, threads and files."""
    bodies = [b"[" * 100_000, b'{"query": 1}', b"\xff" * 10_000, gzip.compress(bytes(2**20))]
    process = psutil.Process(os.getpid())
    target.post(PATH, bodies[0])
    before = process.memory_info().rss
    with ThreadPoolExecutor(16) as callers:
        answers = list(callers.map(lambda n: target.post(PATH, bodies[n % 4]).status_code, range(120)))
    assert set(answers) <= {400, 422, 429}
    assert process.memory_info().rss - before < 100 * 2**20
    assert target.service.gate.requests == 0
