"""Whole searches under load: how many a second the service answers in full while 1 to 64 clients ask.

Each client leads searches to `POST /v1/search` one after the other, as the plugin does: it runs what the
service asks for (here in no time but a pause), sends hashes of documents, and waits for one deadline in all.
The conversations were recorded before. *In full* is a ranking in time with all scores of the cross-encoder;
*without scores* is one of words and vectors. Who is refused stays away as long as the answer says
(`Retry-After`), or, if impatient, as long as its search server takes for one answer.
"""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from serving.relayed import Conversation, Json, body_of, hash_of

_MARGIN = 0.1
"""Of what is left is kept from the service by the plugin."""


class Searched(NamedTuple):
    """One search: seconds, and `full`, `part`, `bare` (words and vectors), `refused`, `late` or an error."""

    seconds: float
    outcome: str


class Plan(NamedTuple):
    """How clients ask."""

    seconds: float
    """That a round takes."""
    deadline: float
    """Seconds of a search."""
    pause: float
    """Seconds that the search server takes for the searches of one call."""
    impatient: bool = False
    """Whether who is refused asks again after a pause, whatever the service says."""


class GoodputRound:
    """So many clients for so many seconds."""

    def __init__(self, url: str, conversations: Sequence[Conversation], clients: int, plan: Plan) -> None:
        self.clients, self.plan = clients, plan
        self._address = url.removeprefix("http://")
        self._next = itertools.cycle(conversations)
        self._lock = threading.Lock()
        self.searched: list[Searched] = []
        self._until = time.perf_counter() + plan.seconds
        started = time.perf_counter()
        threads = [threading.Thread(target=self._client) for _ in range(clients)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.seconds = time.perf_counter() - started

    def rate(self, *outcomes: str) -> float:
        """Searches a second with one of these outcomes."""
        return sum(each.outcome in outcomes for each in self.searched) / self.seconds

    def counts(self) -> dict[str, int]:
        """Searches by outcome."""
        return dict(Counter(each.outcome for each in self.searched))

    def spread(self, outcome: str) -> str:
        """Median and 99th percentile of the milliseconds."""
        found = [1e3 * each.seconds for each in self.searched if each.outcome == outcome]
        return f"{np.percentile(found, 50):.0f} ({np.percentile(found, 99):.0f})" if found else "-"

    def _client(self) -> None:
        connection = http.client.HTTPConnection(self._address, timeout=120)
        while time.perf_counter() < self._until:
            with self._lock:
                conversation = next(self._next)
            started = time.perf_counter()
            outcome, away = self._search(connection, conversation, started + self.plan.deadline)
            seconds = time.perf_counter() - started
            late = outcome in {"full", "part", "bare"} and seconds > self.plan.deadline
            with self._lock:
                self.searched.append(Searched(seconds, "late" if late else outcome))
            if outcome == "refused":
                left = self._until - time.perf_counter()
                time.sleep(max(0.0, min(left, self.plan.pause if self.plan.impatient else away)))

    def _search(
        self, connection: http.client.HTTPConnection, conversation: Conversation, until: float
    ) -> tuple[str, float]:
        """The outcome of a search, and the seconds that its client shall stay away."""
        for call, documents in zip(*conversation, strict=True):
            missing: list[int] = []
            for _ in range(3):
                left = max(1, int(1e3 * (1 - _MARGIN) * (until - time.perf_counter())))
                raw = body_of(call, left, _sent(documents, missing))
                connection.request("POST", "/v1/search", raw, {"Content-Type": "application/json"})
                response = connection.getresponse()
                status, answer = response.status, json.loads(response.read())
                if status != 200:
                    away = float(response.headers.get("Retry-After") or 0)
                    return {429: "refused"}.get(status, answer["error"]["code"]), away
                missing = answer["missing"]
                if not missing:
                    break
            if answer["ranking"] is not None:
                return _outcome(answer["ranking"]), 0.0
            time.sleep(self.plan.pause)
        return "unfinished", 0.0


def _sent(documents: Sequence[bytes], missing: Sequence[int]) -> list[bytes]:
    whole = set(missing)
    return [each if n in whole else b'"%s"' % hash_of(each).encode() for n, each in enumerate(documents)]


def _outcome(ranking: Json) -> str:
    reasons: list[Any] = [each["reason"] for each in ranking["degraded"] if each["stage"] == "cross_encode"]
    if not reasons:
        return "full"
    scored = any(each.get("probability") is not None for each in ranking["results"])
    return "part" if scored and "read the first" in reasons[0] else "bare"
