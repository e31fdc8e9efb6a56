"""Requests that were made to break a service: a fixed list, each with what it must get."""

from __future__ import annotations

import base64
import gzip
import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

REFUSED = frozenset({400, 404, 405, 408, 413, 415, 422})
"""Statuses that blame the request."""
BUSY = frozenset({429, 503, 504})
"""Statuses that say it was too much; right for whatever asks for a lot."""
DONE = frozenset({200})


@dataclass(frozen=True)
class Case:
    """One hostile request."""

    group: str
    path: str
    body: bytes
    right: frozenset[int]
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class RawCase:
    """Bytes on a socket, and beginnings of answers that are right; an empty answer is a closed connection."""

    group: str
    sent: bytes
    right: tuple[bytes, ...]


def body(**fields: object) -> bytes:
    """A JSON body."""
    return json.dumps(fields).encode()


DOCUMENTS = {
    "deep block": "tool:\n " + "- " * 32_000 + "x",
    "deep flow": "tool: " + "[" * 30_000,
    "deep mapping": "tool: " + "{a: " * 15_000,
    "merge bomb": "tool: x\na0: &a0 {k: v}\n"
    + "".join(f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}\n" for n in range(1, 10)),
    "alias bomb": "tool: x\na0: &a0 [x, x]\n"
    + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)),
    "bad integer": 'tool: !!int ""',
    "bad time": "tool: !!timestamp x",
    "hexadecimal": "tool: 0x" + "f" * 8_000,
    "digits": "tool: " + "9" * 9_000,
    "sexagesimal": "tool: " + "1:" * 9_000 + "1",
    "python": "tool: !!python/object/apply:os.abort []",
    "self": "tool: &a [*a]",
    "keys": "tool: x\n? [a, b]\n: c",
    "twice": "tool: x\ntool: y",
    "controls": "tool: \x01\x02\x7f",
    "nothing": "",
    "blank": " \u200b\u2060\ufeff ",
    "long line": "tool: " + "word " * 100_000,
    "anchors": "tool: x\n" + "".join(f"k{n}: &a{n} v\n" for n in range(3_000)),
    "quotes": "tool: '" + "''" * 30_000,
    "comment": "tool: x " + "#" * 60_000,
    "directives": "%YAML 1.1\n---\ntool: x\n" * 500,
    "tags": "tool: !<" + "x" * 30_000 + "> y",
    "right to left": "\u202etool: x\u202c",
    "combining": "a" + "\u0301" * 30_000,
    "nul": "tool: a\u0000b",
    "json": '{"tool": ' * 5_000,
    "prose": "category: support\ntitle: Reset\ncontent: open the settings",
    "many words": "tool: x\n" + "- [a, b, {c: d}]\n" * 3_500,
    "one word": "x" * 100_000,
}
"""Texts that were made to break whoever reads them as YAML, or as anything."""
OBJECTS: dict[str, Any] = {
    "nested": json.loads('{"a":' * 90 + "1" + "}" * 90),
    "wide": {f"k{n}": n for n in range(5_000)},
    "large number": {"n": 10**300},
    "small number": {"n": 1e-300},
    "empty key": {"": ""},
    "nulls": {"tool": None, "text": None, "api": None},
    "list as tool": {"tool": [[]], "text": "x"},
    "object as text": {"text": {"a": {"b": "c"}}},
    "parameters": {"tool": "x", "parameters": [{"name": None}, 1, "a"]},
    "truth": {"tool": True, "category": False, "text": "x"},
}
NOT_JSON = {
    "nothing": b"",
    "open list": b"[" * 200_000,
    "open object": b'{"query":' * 50_000,
    "no UTF-8": b'{"query": "\xff\xfe"}',
    "surrogate": b'{"query": "\\ud800"}',
    "not a number": b'{"query": NaN}',
    "infinity": b'{"query": 1e999}',
    "trailing": b'{"query": "q"} x',
    "half": b'{"query": "q", "documents": ["a"',
    "quote": b'"',
    "number": b"1" * 100_000,
    "nul": b"\x00" * 1_000,
    "byte order mark": b"\xef\xbb\xbf{}",
    "null": b"null",
    "list": b"[]",
    "utf-16": '{"query": "q"}'.encode("utf-16"),
}
ASKING = (
    "/v1/rescore",
    "/v2/rerank",
    "/v1/rerank",
    "/rerank",
    "/v1/embeddings",
)


def request_cases() -> Iterator[Case]:
    """Every request of the list."""
    for path, (name, content) in itertools.product(ASKING, NOT_JSON.items()):
        yield Case(f"{path}: {name}", path, content, REFUSED)
    for name, text in DOCUMENTS.items():
        for path, where in (("/v2/rerank", "documents"), ("/v1/rerank", "documents"), ("/rerank", "texts")):
            yield Case(f"{path}: text, {name}", path, body(query="w", **{where: [text, "x"]}), DONE | BUSY)
        asked = body(query="w", documents=[text, "x"], document_format="yaml")
        yield Case(f"/v2/rerank: YAML, {name}", "/v2/rerank", asked, DONE | BUSY)
        yield Case(f"/v1/embeddings: {name}", "/v1/embeddings", body(input=text or " "), DONE | BUSY)
    for name, document in OBJECTS.items():
        for path in ("/v2/rerank", "/v1/rerank"):
            asked = body(query="w", documents=[document, "x"])
            yield Case(f"{path}: object, {name}", path, asked, DONE | BUSY | {422, 400})
    yield from _bodies()
    yield from _rescoring()
    yield from _headers()


def _bodies() -> Iterator[Case]:
    """Sizes, compression, numbers."""
    bomb = gzip.compress(bytes(50 * 2**20))
    for path in ASKING:
        yield Case(f"{path}: gzip bomb", path, bomb, frozenset({413}), {"content-encoding": "gzip"})
        yield Case(f"{path}: no gzip", path, b"no gzip", frozenset({400}), {"content-encoding": "gzip"})
        yield Case(f"{path}: unknown coding", path, b"{}", frozenset({415}), {"content-encoding": "br"})
        yield Case(f"{path}: past deadline", path, b"{}", frozenset({504}), {"x-deadline-ms": "0"})
    values = b'{"query": "q", "documents": [{"a": [' + b"[]," * 3_000_000 + b"[]]}]}"
    yield Case("/v1/rerank: millions of values", "/v1/rerank", values, frozenset({413}))
    yield Case(
        "/v2/rerank: too many", "/v2/rerank", body(query="q", documents=["a"] * 3_000), frozenset({413})
    )
    yield Case("/v2/rerank: nothing", "/v2/rerank", body(query="q", documents=[]), frozenset({400}))
    long = body(query="q " * 400_000, documents=["a"])
    yield Case("/v2/rerank: long query", "/v2/rerank", long, DONE | BUSY)
    heavy = body(query="q", texts=["word " * 1_500] * 2_000)
    yield Case("/rerank: two thousand long texts", "/rerank", heavy, BUSY | DONE)
    yaml = body(query="q", documents=[DOCUMENTS["many words"]] * 200, document_format="yaml")
    yield Case("/v2/rerank: two hundred YAML documents", "/v2/rerank", yaml, BUSY | DONE)
    for name, ids in {"negative": [-1], "unknown": [10**6], "huge": [10**30], "mixed": [1, "a"]}.items():
        asked = body(input=ids, model="encoder-pair")
        yield Case(f"/v1/embeddings: {name} ids", "/v1/embeddings", asked, REFUSED)


def _rescoring() -> Iterator[Case]:
    """Vectors and profiles of callers."""
    rng = np.random.default_rng(0)
    vectors = np.abs(rng.normal(size=(1_000, 384))).astype("<f4")
    coded = [base64.b64encode(row.tobytes()).decode() for row in vectors]
    many = [{"id": str(n), "text": "t", "vector": code} for n, code in enumerate(coded)]
    hard = {"l1": 0.0, "l2": 0.01, "candidates": 1_000}
    stages: dict[str, tuple[Any, frozenset[int]]] = {
        "two decodes": ([{"stage": "decode", **hard}] * 2, DONE),
        "forty-nine decodes": ([{"stage": "decode", **hard}] * 49, frozenset({422})),
        "many stages": ([{"stage": "fuse"}] * 45, frozenset({422})),
        "too many stages": ([{"stage": "fuse"}] * 5_000, frozenset({422})),
        "unknown": ([{"stage": "rm"}], frozenset({422})),
        "zeros": ([{"stage": "decode", "l1": 0.0, "l2": 0.0, "candidates": 1_000}], DONE),
        "diversify": ([{"stage": "diversify", "similarity": 0.0, "candidates": 1_000}], DONE),
        "step beyond window": ([{"stage": "rankgpt", "window": 2, "step": 50}], frozenset({422})),
    }
    for name, (wanted, right) in stages.items():
        call = {
            "query": "q",
            "vector": coded[0],
            "candidates": many,
            "profile": {"name": "x", "stages": wanted},
        }
        yield Case(f"/v1/rescore: {name}", "/v1/rescore", json.dumps(call).encode(), right)
    for name, value in {"nan": np.nan, "infinity": np.inf}.items():
        bad = base64.b64encode(np.array([1, value], "<f4").tobytes()).decode()
        call = {"query": "q", "candidates": [{"id": "a", "text": "a", "vector": bad}]}
        yield Case(f"/v1/rescore: {name}", "/v1/rescore", json.dumps(call).encode(), frozenset({422}))
    good = {"id": "a", "text": "a"}
    calls: dict[str, tuple[dict[str, Any], frozenset[int]]] = {
        "ids twice": ({"candidates": [good, good]}, DONE),
        "no text": ({"candidates": [{"id": "a"}]}, frozenset({422})),
        "empty id": ({"candidates": [{"id": "", "text": "a"}]}, frozenset({422})),
        "file as profile": ({"candidates": [good], "profile": "/etc/passwd"}, frozenset({404})),
        "negative k": ({"candidates": [good], "k": -1}, frozenset({422})),
        "rank zero": ({"candidates": [{**good, "lexical": {"rank": 0}}]}, frozenset({422})),
        "zero vector": ({"candidates": [good], "vector": base64.b64encode(bytes(16)).decode()}, DONE),
        "short vector": ({"candidates": [good], "vector": "AAA="}, frozenset({422})),
        "unknown field": ({"candidates": [good], "candidate": []}, frozenset({422})),
        "blank texts": ({"candidates": [{"id": str(n), "text": " "} for n in range(50)]}, DONE),
    }
    for name, (fields, right) in calls.items():
        yield Case(f"/v1/rescore: {name}", "/v1/rescore", body(query="q", **fields), right)


def _headers() -> Iterator[Case]:
    """Headers that make no sense are read as if they had not been sent, but for those of other sites."""
    good = body(query="q", documents=["a"])
    for name in ("x-deadline-ms", "x-request-id", "authorization", "traceparent", "content-type", "origin"):
        for value in ("-1", "1e9", "9" * 5_000, "00-0-0-zz", '{"a":'):
            right = frozenset({403}) if name == "origin" else DONE | BUSY
            yield Case(f"header {name}", "/v2/rerank", good, right, {name: value})


def raw_cases() -> Iterator[RawCase]:
    """Requests that no HTTP client would send."""
    post = b"POST /v2/rerank HTTP/1.1\r\nhost: x\r\n"
    both = b"content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    sent: dict[str, tuple[bytes, tuple[bytes, ...]]] = {
        "two lengths": (post + both, (b"HTTP/1.1 400",)),
        "two content-lengths": (post + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}", (b"HTTP/1.1 4",)),
        "negative length": (post + b"content-length: -5\r\n\r\n", (b"HTTP/1.1 4",)),
        "endless length": (post + b"content-length: 999999999999999\r\n\r\n", (b"HTTP/1.1 413",)),
        "bad chunk": (post + b"transfer-encoding: chunked\r\n\r\nzz\r\n", (b"HTTP/1.1 4", b"")),
        "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc", (b"HTTP/1.1 4", b"")),
        "old HTTP": (b"GET /health/live\r\n\r\n", (b"HTTP/1.1 4", b"")),
        "no host": (b"POST /v2/rerank HTTP/1.1\r\ncontent-length: 0\r\n\r\n", (b"HTTP/1.1 4",)),
        "long head": (b"GET / HTTP/1.1\r\nhost: x\r\n" + b"x: y\r\n" * 20_000, (b"HTTP/1.1 4", b"")),
        "long path": (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\nhost: x\r\n\r\n", (b"HTTP/1.1 4",)),
        "strange method": (b"RERANK /v2/rerank HTTP/1.1\r\nhost: x\r\n\r\n", (b"HTTP/1.1 405",)),
        "folded header": (b"GET /health/live HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", (b"HTTP/1.1 ",)),
    }
    for name, (content, right) in sent.items():
        yield RawCase(f"raw: {name}", content, right)
