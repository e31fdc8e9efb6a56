"""Synthetic APIs, as many as wanted, to benchmark engines with: documents, vectors, requests, the nearest.

Every synthetic API is one of ToolBench with a number in its names; its vector is that of the real one, moved
by 0.6 along the difference of two other real ones, so that vectors are as clustered and as flat as real ones.
Requests are those of ToolBench dev, with vectors of the shipped encoder.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick.evaluation.measuring import Plan, judged_dataset
from kitpick_engines.contract import Engine, SearchRequest
from kitpick_engines.document import ApiDocument, decode_document, document_id, encode_document
from kitpick_ingest.progress import NullProgress

SOURCE = "synthetic"
SPREAD = 0.6
CANDIDATES = 50
Floats = NDArray[np.float32]


class RealApis:
    """What synthetic APIs are made from: documents, their vectors (n, d), and requests with theirs (m, d)."""

    def __init__(self, folder: Path) -> None:
        with (folder / "documents.jsonl").open("rb") as lines:
            self.documents = [decode_document(line) for line in lines]
        stored = np.load(folder / "vectors.npz")
        self.vectors: Floats = stored["documents"]
        self.queries: Floats = stored["queries"]
        self.requests: list[str] = json.loads((folder / "requests.json").read_text("utf-8"))

    def synthetic(self, number: int) -> ApiDocument:
        """The API of this number, from 0."""
        real = self.documents[number % len(self.documents)]
        copy = number // len(self.documents)
        tool, api = f"{real.tool} {copy}", f"{real.api} {number:07}"
        return msgspec.structs.replace(
            real, id=document_id(SOURCE, tool, api), source=SOURCE, tool=tool, api=api
        )

    def vectors_of(self, numbers: NDArray[np.int64]) -> Floats:
        """Unit vectors (n, d) of synthetic APIs."""
        count = len(self.vectors)
        drawn = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        one = (drawn >> np.uint64(40)) % np.uint64(count)
        other = (drawn >> np.uint64(16)) % np.uint64(count)
        moved = self.vectors[one] - self.vectors[other]
        moved *= SPREAD / np.maximum(np.linalg.norm(moved, axis=1, keepdims=True), 1e-9)
        vectors = self.vectors[numbers % count] + moved
        unit: Floats = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


class SyntheticSource:
    """So many synthetic APIs."""

    name = SOURCE

    def __init__(self, real: RealApis, documents: int) -> None:
        self._real = real
        self._documents = documents

    def read(self) -> Iterator[ApiDocument]:
        """The documents."""
        return (self._real.synthetic(number) for number in range(self._documents))


class NumberedVectors:
    """The embedder of synthetic APIs, which it knows by the number in their names."""

    identity = "synthetic@1"

    def __init__(self, real: RealApis) -> None:
        self._real = real
        self.dimensions = real.vectors.shape[1]

    def encode(self, texts: Sequence[str]) -> Floats:
        """Unit vectors (n, d)."""
        found = (re.search(r"\b\d{7}\b", text) for text in texts)
        return self._real.vectors_of(np.array([int(each[0]) for each in found if each], np.int64))


def prepare(folder: Path, data: Path) -> RealApis:
    """Embeds ToolBench with the shipped encoder, once."""
    if not (folder / "requests.json").exists():
        folder.mkdir(parents=True, exist_ok=True)
        with judged_dataset("toolbench", data, Plan(profiles=("hybrid",)), NullProgress()) as judged:
            live = judged.catalog.engine.live()
            assert live is not None
            stored = list(judged.catalog.engine.documents(live[0]))
            requests = [query.text for query in judged.queries]
            queries = np.stack([judged.catalog.models.queries.vectors((text,))[0] for text in requests])
        (folder / "documents.jsonl").write_bytes(
            b"".join(encode_document(each.document) + b"\n" for each in stored)
        )
        np.savez(
            folder / "vectors.npz", documents=np.stack([each.vector for each in stored]), queries=queries
        )
        (folder / "requests.json").write_text(json.dumps(requests), "utf-8")
    return RealApis(folder)


def exact(real: RealApis, all_numbers: NDArray[np.int64], queries: Floats) -> NDArray[np.int64]:
    """Numbers of the nearest synthetic APIs of each query (m, 50), compared with all of them."""
    block = 50_000
    best = np.empty((len(queries), 0), np.float32)
    numbers = np.empty((len(queries), 0), np.int64)
    for start in range(0, len(all_numbers), block):
        some = all_numbers[start : start + block]
        scores = np.hstack([best, queries @ real.vectors_of(some).T])
        candidates = np.hstack([numbers, np.broadcast_to(some, (len(queries), len(some)))])
        top = np.argpartition(-scores, CANDIDATES, axis=1)[:, :CANDIDATES]
        best = np.take_along_axis(scores, top, axis=1)
        numbers = np.take_along_axis(candidates, top, axis=1)
    return numbers


def search_ms(engine: Engine, real: RealApis, position: int, lexical: bool, dense: bool) -> float:
    """Milliseconds of a search for candidates of either ranking."""
    text = real.requests[position] if lexical else ""
    request = SearchRequest(text, real.queries[position] if dense else None, CANDIDATES)
    started = time.perf_counter()
    engine.search(request)
    return 1e3 * (time.perf_counter() - started)


def percentiles(times: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile."""
    return {f"p{each}": round(float(np.percentile(times, each)), 1) for each in (50, 99)}


def mean_recall(found: Sequence[set[str]], wanted: Sequence[set[str]]) -> float:
    """Share of what was wanted that was found."""
    return float(np.mean([len(a & b) / len(b) for a, b in zip(found, wanted, strict=True)]))
