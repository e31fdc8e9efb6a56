"""Every reader of untrusted bytes, fuzzed for a while in a child process, so that native crashes count.

Inputs are mutated from a stored corpus (`corpus/`) and kept where they run lines that none ran before. A
reader may read or refuse by a typed error, within seconds. `KITPICK_FUZZ_SECONDS` is the time for each; the
seed is always the same, and the day's for a release (`KITPICK_FUZZ_SEED` sets another one). What is found
becomes a file of the corpus.
"""

from __future__ import annotations

import base64
import datetime
import json
import queue
import random
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
import stored
from sizes import sized

from kitpick_service.app import ENDPOINTS

pytestmark = [pytest.mark.needs("serve"), pytest.mark.slow]
HERE = Path(__file__).parent
SECONDS = sized("KITPICK_FUZZ_SECONDS", 0.5, 200)
SEED = int(sized("KITPICK_FUZZ_SEED", 1, datetime.date.today().toordinal()))
LONGEST = 100_000
"""Bytes of an input, unless what it is made from is longer."""
PATIENCE = 10.0
"""Seconds of processor time for one input: a machine may have a lot else to do."""
_MOST_WAITS = 30
"""Times that long a child may stand still altogether."""
TOKENS = [
    *(
        b"[",
        b"]",
        b"{",
        b"}",
        b":",
        b": ",
        b"- ",
        b"\n",
        b'"',
        b"'",
        b",",
        b"#",
        b"|",
        b">",
        b"%",
        b"? ",
        b"\t",
    ),
    *(
        b"&a ",
        b"*a",
        b"<<: ",
        b"!!int ",
        b"!!python/name:os ",
        b"---\n",
        b"...",
        b"~",
        b"null",
        b"true",
        b"NaN",
    ),
    *(
        b"1e999",
        b"-1",
        b"0x1F",
        b"9" * 400,
        b"\\ud800",
        b"\\u0000",
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\xc2",
    ),
    *(b'"documents"', b'"document_format": "yaml"', b'"tool"', b'"$ref": "#"', b'"query"', b'"profile"'),
]
READERS = [
    *(f"text:{name}" for name in ("yaml", "verbatim", "profile", "keys", "graph", "manifest", "reference")),
    *(f"text:{name}" for name in ("ranking", "writing", "pool", "config", "lock", "run", "conversation")),
    *(f"wire:{endpoint.path}" for endpoint in ENDPOINTS if endpoint.request is not None),
    "wire:answer",
    *(f"source:{kind}" for kind in ("openapi", "mcp", "functions", "documents", "toolbench")),
    *(f"model:{file}" for file in ("tokenizer", "kind", "head", "trees")),
    *(f"catalog:{file}" for file in ("database", "vectors", "intents")),
]


class Target:
    """The child process."""

    def __init__(self, reader: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "target.py"), reader],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        assert self._lines.get(timeout=600).strip() == "ready"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)
        self._lines.put("")

    def read(self, data: bytes) -> dict[str, Any]:
        """What the reader made of an input: `outcome` and `new`."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(base64.b64encode(data).decode() + "\n")
            self._process.stdin.flush()
            line = self._answer()
        except queue.Empty:
            return {"outcome": f"not done in {PATIENCE:g} s", "new": 0}
        except BrokenPipeError:
            line = ""
        if not line:
            return {"outcome": f"the process died: {self._process.wait()}", "new": 0}
        found: dict[str, Any] = json.loads(line)
        return found

    def _answer(self) -> str:
        """The next line; raises `queue.Empty` for a reader that computes for too long."""
        began = self._computed()
        for _ in range(_MOST_WAITS):
            with suppress(queue.Empty):
                return self._lines.get(timeout=PATIENCE)
            if self._computed() - began > PATIENCE:
                break
        raise queue.Empty

    def _computed(self) -> float:
        """Seconds of processor time of the child so far."""
        try:
            times = psutil.Process(self._process.pid).cpu_times()
        except psutil.Error:
            return 0.0
        return float(times.user + times.system)

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def seeds(reader: str) -> list[bytes]:
    """Files of the corpus: those of all readers and of this one. Of stored files a sound one, and its own."""
    own = HERE / "corpus" / reader.replace(":", "_").replace("/", "_")
    kind, _, what = reader.partition(":")
    kept = [file.read_bytes() for file in sorted(own.glob("*"))]
    if kind in {"model", "catalog"}:
        return [stored.sound_model_file(what) if kind == "model" else stored.sound_files()[what], *kept]
    return [*(file.read_bytes() for file in sorted((HERE / "corpus").glob("*.*"))), *kept]


def mutated(chance: random.Random, corpus: Sequence[bytes]) -> bytes:
    """An input near one of the corpus: pieces cut, repeated, joined, replaced by special ones."""
    data = bytearray(chance.choice(corpus))
    longest = max(LONGEST, len(data))
    for _ in range(chance.randint(1, 4)):
        start = chance.randint(0, len(data))
        end = min(len(data), start + chance.choice((0, 1, 2, 8, 64)))
        change = chance.randrange(6)
        if change == 0:
            data[start:end] = b""
        elif change == 1:
            data[start:end] = chance.choice(TOKENS)
        elif change == 2:
            piece = bytes(data[start:end]) or chance.choice(TOKENS)
            data[end:end] = piece * chance.choice((1, 3, 300, 20_000))
        elif change == 3:
            other = chance.choice(corpus)
            cut = chance.randint(0, len(other))
            data[start:end] = other[cut : cut + chance.choice((4, 40, 4_000))]
        elif change == 4 and data:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        else:
            data[start:start] = chance.choice(TOKENS) * chance.choice((1, 2, 50))
        del data[longest:]
    return bytes(data)


def findings(reader: str, corpus: list[bytes], seconds: float, seed: int) -> list[tuple[str, bytes]]:
    """What is neither read nor refused, at most one; the corpus first, then mutations of it for so long."""
    chance, target = random.Random(seed), Target(reader)
    until = time.monotonic() + seconds
    waiting = list(corpus)
    try:
        while waiting or time.monotonic() < until:
            data = waiting.pop() if waiting else mutated(chance, corpus)
            found = target.read(data)
            if found["outcome"] not in {"read", "refused"}:
                return [(found["outcome"], data)]
            if found["new"]:
                corpus.append(data)
    finally:
        target.close()
    return []


@pytest.mark.sweep
@pytest.mark.parametrize("reader", READERS)
def test_it_reads_or_refuses_whatever_comes(reader: str) -> None:
    for outcome, data in findings(reader, seeds(reader), SECONDS, SEED):
        kept = base64.b64encode(data).decode()
        pytest.fail(f"{reader}: {outcome}\nseed {SEED}, {len(data)} bytes, base64: {kept[:2_000]}")


@pytest.mark.parametrize(
    ("defect", "outcome"), [("crash", "the process died"), ("untyped", "ZeroDivisionError")]
)
def test_the_fuzzer_finds_what_it_looks_for(defect: str, outcome: str) -> None:
    """Only an input with an `x` shows the defect, and none of the corpus has one."""
    ((found, data),) = findings(f"check:{defect}", [b"abc", b'{"a": 1}'], 20, 1)
    assert found.startswith(outcome)
    assert b"x" in data


def test_it_keeps_what_runs_new_lines() -> None:
    corpus = [b"a: 1"]
    findings("text:yaml", corpus, 2, 1)
    assert len(corpus) > 1
