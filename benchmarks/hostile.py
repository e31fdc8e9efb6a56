"""What is sent to break the service and its readers: a fixed list, with what each must get.

A service (`kitpick serve`) gets every request of the list: bodies, documents, headers, raw bytes on a socket.
Files are read by the readers of untrusted text, each in a process of its own. Each case names the statuses
(or, for files, the outcome) that are right; anything else is printed and counts as `wrong`.

- `crashes`: processes that died, of the service or of a reader.
- `late`: answers that came more than a second after their deadline.
- `grown_mb`: resident memory of the service after all of it, minus before.
- `same_after`: 1 where a good request is answered to the last bit as before, else 0.

`--deadline` seconds of each request, `--only PATTERN` of the names of cases.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import itertools
import json
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import psutil
from rich.console import Console
from rich.table import Table
from serving.process import Served, serving

GRACE = 1.0
"""Seconds after its deadline at which an answer counts as late."""
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


@dataclass(frozen=True)
class FileCase:
    """A file for a reader, given as the name of a function in `READERS`."""

    group: str
    reader: str
    content: bytes


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
    "/voyage/v1/rerank",
    "/rerank",
    "/predict",
    "/embed",
    "/similarity",
    "/tokenize",
    "/",
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
        yield Case(f"/embed: {name}", "/embed", body(inputs=text or " "), DONE | BUSY)
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
        asked = body(input=ids, model="minilm-l6")
        yield Case(f"/v1/embeddings: {name} ids", "/v1/embeddings", asked, REFUSED)


def _rescoring() -> Iterator[Case]:
    """Vectors and profiles of callers."""
    rng = np.random.default_rng(0)
    vectors = np.abs(rng.normal(size=(1_000, 384))).astype("<f4")
    coded = [base64.b64encode(row.tobytes()).decode() for row in vectors]
    many = [{"id": str(n), "text": "t", "vector": code} for n, code in enumerate(coded)]
    hard = {"l1": 0.0, "l2": 0.01, "candidates": 1_000}
    stages: dict[str, tuple[Any, frozenset[int]]] = {
        "joining": ([{"stage": "decode", "order": "joining", **hard}], DONE),
        "two decodes": ([{"stage": "decode", **hard}] * 2, DONE),
        "forty-nine decodes": ([{"stage": "decode", **hard}] * 49, frozenset({422})),
        "many stages": ([{"stage": "fuse"}] * 45, frozenset({422})),
        "too many stages": ([{"stage": "fuse"}] * 5_000, frozenset({422})),
        "unknown": ([{"stage": "rm"}], frozenset({422})),
        "zeros": ([{"stage": "decode", "l1": 0.0, "l2": 0.0, "candidates": 1_000}], DONE),
        "diversify": ([{"stage": "diversify", "similarity": 0.0, "candidates": 1_000}], DONE),
        "mmr": ([{"stage": "mmr", "candidates": 1_000}] * 2, DONE),
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


READERS = {
    "yaml": "from kitpick_foundation.yaml_values import parse_yaml; parse_yaml(data, 1_000_000)",
    "verbatim yaml": "from kitpick_foundation.yaml_values import parse_yaml; "
    "parse_yaml(data, 65_536, verbatim=True)",
    "profile": "from kitpick_rescorers.profiles import parse_profile; "
    "parse_profile(data.decode('utf-8', 'replace'), 'x.toml')",
    "keys": "from kitpick_rescorers.service.keys import parse_keys; "
    "parse_keys(data.decode('utf-8', 'replace'), 'keys.toml')",
    "graph": "from kitpick_models.graph_file import keeps_weights_elsewhere; keeps_weights_elsewhere(data)",
    "manifest": "from pathlib import Path; import tempfile; "
    "from kitpick_models.manifest import read_manifest; "
    "folder = Path(tempfile.mkdtemp()); (folder / 'manifest.json').write_bytes(data); read_manifest(folder)",
}
"""Each reads `data`. A typed error, or a ValueError of the graph's reader, is a right outcome."""


def file_cases() -> Iterator[FileCase]:
    """Every file for every reader that it may do harm to."""
    for reader in READERS:
        for name in ("deep block", "deep flow", "merge bomb", "alias bomb", "digits", "controls", "quotes"):
            content = DOCUMENTS[name].encode("utf-8", "replace")
            yield FileCase(f"file for {reader}: {name}", reader, content)
        for name in ("nothing", "open list", "open object", "no UTF-8", "nul", "number"):
            yield FileCase(f"file for {reader}: {name}", reader, NOT_JSON[name])


class Tally:
    """What came of the cases so far."""

    def __init__(self) -> None:
        self.cases, self.late, self.crashes = 0, 0, 0
        self.wrong: list[tuple[str, str]] = []

    def requests(self, served: Served, wanted: re.Pattern[str], deadline: float) -> None:
        """Sends every request whose name is wanted, while the service lives."""
        for case in request_cases():
            if wanted.search(case.group) and not self.crashes:
                self.cases += 1
                status, seconds = _asked(served.url, case, deadline)
                self.late += seconds > deadline + GRACE
                if status not in case.right:
                    self.wrong.append((case.group, f"{status} in {seconds:.1f} s"))
                self.crashes += not _lives(served.pid)
        for raw in raw_cases():
            if wanted.search(raw.group) and not self.crashes:
                self.cases += 1
                answer = _spoken(served.url, raw.sent)
                if not any(answer.startswith(start) and (start or not answer) for start in raw.right):
                    self.wrong.append((raw.group, repr(answer[:40])))
                self.crashes += not _lives(served.pid)

    def files(self, wanted: re.Pattern[str], deadline: float) -> None:
        """Has every file whose name is wanted read."""
        for case in file_cases():
            if wanted.search(case.group):
                self.cases += 1
                outcome = _read(case, deadline)
                self.crashes += outcome == "crash"
                self.late += outcome == "late"
                if outcome != "right":
                    self.wrong.append((case.group, outcome))

    def show(self) -> None:
        """Prints what was not right."""
        table = Table("case", "what it got instead", title=f"{self.cases} cases, {len(self.wrong)} wrong")
        for row in self.wrong:
            table.add_row(*row)
        Console().print(table)


def main() -> int:
    """Prints a table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--deadline", type=float, default=5.0)
    parser.add_argument("--only", default="", help="regular expression")
    options = parser.parse_args()
    wanted, tally = re.compile(options.only), Tally()
    same, grown = False, float("nan")
    settings = (f"deadline_seconds={options.deadline}", "body_seconds=2", "log_level=error")
    with serving(settings) as served:
        before, memory = _good(served.url), psutil.Process(served.pid).memory_info().rss
        tally.requests(served, wanted, options.deadline)
        if not tally.crashes:
            same = _good(served.url) == before
            grown = (psutil.Process(served.pid).memory_info().rss - memory) / 2**20
    tally.files(wanted, options.deadline)
    tally.show()
    figures = {"crashes": tally.crashes, "late": tally.late, "grown_mb": round(grown, 1)}
    print(json.dumps({**figures, "same_after": int(same), "cases": tally.cases, "wrong": len(tally.wrong)}))
    return 0


def _lives(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _asked(url: str, case: Case, deadline: float) -> tuple[int, float]:
    """Status of the answer, 0 for none, and how long it took."""
    started = time.perf_counter()
    try:
        answer = httpx2.post(url + case.path, content=case.body, headers=case.headers, timeout=4 * deadline)
    except httpx2.HTTPError:
        return 0, time.perf_counter() - started
    return answer.status_code, time.perf_counter() - started


def _spoken(url: str, sent: bytes) -> bytes:
    """What comes back until the connection is closed, or nothing comes for five seconds."""
    host, _, port = url.removeprefix("http://").partition(":")
    received = b""
    with socket.create_connection((host, int(port)), timeout=5) as connection:
        try:
            connection.sendall(sent)
            while chunk := connection.recv(65_536):
                received += chunk
        except OSError:
            pass
    return received


def _good(url: str) -> object:
    """The results of a good request."""
    call = body(
        query="weather", candidates=[{"id": "a", "text": "weather of a city"}, {"id": "b", "text": "x"}]
    )
    return httpx2.post(f"{url}/v1/rescore", content=call, timeout=60).json()["results"]


def _read(case: FileCase, seconds: float) -> str:
    """`right`, `late`, `crash`, or the untyped error that came out."""
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(case.content)
        script = (
            "from kitpick_foundation.errors import KitpickError\n"
            f"data = open({file.name!r}, 'rb').read()\n"
            "try:\n"
            f"    {READERS[case.reader]}\n"
            f"except {'(KitpickError, ValueError)' if case.reader == 'graph' else 'KitpickError'}:\n"
            "    pass\n"
        )
        try:
            done = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, timeout=20 + seconds, check=False
            )
        except subprocess.TimeoutExpired:
            return "late"
    if done.returncode < 0:
        return "crash"
    return "right" if done.returncode == 0 else done.stderr.decode().strip().splitlines()[-1][:100]


if __name__ == "__main__":
    raise SystemExit(main())
