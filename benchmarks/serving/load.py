"""Threads that ask one rerank request after another, and the same model without a service."""

from __future__ import annotations

import json
import random
import statistics
import threading
import time
from collections.abc import Callable, Sequence

import httpx2
import numpy as np

from kitpick_models.encoders import CrossEncoder
from serving.asking import SIZES, new_query

Body = Callable[[str, Sequence[str]], dict[str, object]]


def tei_body(query: str, texts: Sequence[str]) -> dict[str, object]:
    """What `POST /rerank` of Text Embeddings Inference takes."""
    return {"query": query, "texts": list(texts)}


def offline_rate(model: CrossEncoder, texts: Sequence[str], seed: int, pairs: int = 1_500) -> float:
    """Pairs a second of one call, whose query is as long as those that the clients ask."""
    choice = random.Random(seed)
    query, chosen = new_query(choice), choice.sample(texts, pairs)
    started = time.perf_counter()
    model.score(query, chosen)
    return pairs / (time.perf_counter() - started)


class Load:
    """Clients that ask one request after another; the figures of one round."""

    def __init__(
        self, url: str, texts: Sequence[str], clients: int, seconds: float, seed: int, body: Body = tei_body
    ) -> None:
        """`url` is that of the path; the round ends when the requests begun in its `seconds` are answered."""
        self.latencies: list[float] = []
        self.pairs = 0
        self.refused = 0
        self._lock = threading.Lock()
        self._url, self._texts, self._body = url, texts, body
        self._until = time.perf_counter() + seconds
        started = time.perf_counter()
        threads = [threading.Thread(target=self._client, args=(1_000 * seed + n,)) for n in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.rate = self.pairs / (time.perf_counter() - started)

    def _client(self, seed: int) -> None:
        choice = random.Random(seed)
        with httpx2.Client(timeout=120, trust_env=False) as client:
            while time.perf_counter() < self._until:
                size = choice.choice(SIZES)
                body = self._body(new_query(choice), choice.sample(self._texts, size))
                content = json.dumps(body).encode()
                started = time.perf_counter()
                answer = client.post(self._url, content=content, headers={"content-type": "application/json"})
                self._note(answer, size, time.perf_counter() - started)

    def _note(self, answer: httpx2.Response, size: int, seconds: float) -> None:
        with self._lock:
            if answer.status_code != 200:
                self.refused += 1
                return
            self.latencies.append(seconds)
            self.pairs += size

    def percentile(self, q: float) -> float:
        """Of the latencies, in milliseconds."""
        return float(np.percentile(self.latencies, q)) * 1e3


def http_overhead(url: str, model: CrossEncoder, texts: Sequence[str], repeats: int = 60) -> float:
    """Milliseconds that a request of 20 documents takes longer over HTTP, medians of interleaved calls."""
    here: list[float] = []
    there: list[float] = []
    with httpx2.Client(base_url=url, timeout=60, trust_env=False) as client:
        for turn in range(repeats):
            choice = random.Random(turn)
            query, chosen = new_query(choice), choice.sample(texts, 20)
            content = json.dumps(tei_body(query, chosen)).encode()
            started = time.perf_counter()
            model.score(query, chosen)
            here.append(time.perf_counter() - started)
            started = time.perf_counter()
            client.post("/rerank", content=content)
            there.append(time.perf_counter() - started)
    return (statistics.median(there) - statistics.median(here)) * 1e3
