"""Nearest sample requests vote for their APIs."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Place, Vector

HALF_LIFE_DAYS = 60.0
"""Days after which a choice counts half."""
QUORUM = 2
"""How many different clients must have chosen an API for similar requests before their choices count."""
NEIGHBOURS = 20
"""How many of the nearest samples count, of the operator's and of each client's own."""
_FLOOR = 0.5
"""Cosine below which a sample says nothing about a request."""
_SHARPNESS = 8.0
"""A sample's vote is cosine to this power."""
_JUDGED_BY = 10
"""How many of the best candidates show whether samples cover the subject of a request."""
_DAY = 86_400.0
Number = TypeVar("Number", np.float32, np.float64)


class Intents(msgspec.Struct, frozen=True, eq=False):
    """Sample requests with the APIs that serve them, one row a pair."""

    apis: Sequence[str]
    clients: Sequence[str]
    """Client that chose it; empty for samples of the operator, which are trusted and do not age."""
    times: NDArray[np.float64]
    """Seconds since the epoch, (n,)."""
    vectors: NDArray[np.float32]
    """Unit vectors of the requests, (n, d)."""
    covered: frozenset[str]
    """APIs that have samples at all."""
    requests: Sequence[str]
    """The requests themselves."""
    tenants: Sequence[str]
    """Tenant of each client; empty for none."""
    verdicts: Sequence[str]
    """What became of each API, see `store.Verdict`."""

    def counts_for(self, row: int, tenant: str) -> bool:
        """Whether a row has a say for callers of a tenant.

        A sample of the operator always has; what a client said, for its own tenant or, from a client of
        none, for everybody.
        """
        return not self.clients[row] or self.tenants[row] in ("", tenant)

    def chosen(self, row: int) -> bool:
        """Whether the API did the job."""
        return self.verdicts[row] == "chosen"


NO_INTENTS = Intents((), (), np.zeros(0), np.zeros((0, 0), np.float32), frozenset(), (), (), ())


def caller_of(client: str) -> str:
    """Who vouches for a client: of `KEY/USER` the key, whose holder may name any users; else the client."""
    return client.partition("/")[0]


def cosines(rows: NDArray[Number], vector: NDArray[Number]) -> NDArray[Number]:
    """Inner products of unit vectors (n, d) and (d,): each as if there were no other row, to the last bit."""
    found: NDArray[Number] = np.einsum("ij,j->i", rows, vector)
    return found


def near_samples(intents: Intents, vector: Vector) -> list[tuple[int, float]]:
    """Rows whose requests are near enough to a unit vector (d,), nearest first, with their cosines."""
    if not len(intents.apis):
        return []
    similarity = cosines(intents.vectors, vector)
    rows = np.flatnonzero(similarity >= _FLOOR)
    order = rows[np.lexsort((rows, -similarity[rows]))]
    return [(int(row), float(similarity[row])) for row in order]


def trust(order: Sequence[str], covered: frozenset[str]) -> float:
    """How far to trust the votes for a request, in [0, 1]: the fourth power of the share of covered APIs.

    Where few of the APIs that a request is about have samples, those few would win by having them at all.

    `order` has the best candidates by the other rankings, `covered` the APIs with samples.
    """
    best = order[:_JUDGED_BY]
    return (sum(key in covered for key in best) / len(best)) ** 4 if best else 1.0


def vote(
    intents: Intents,
    near: Sequence[tuple[int, float]],
    now: float | None = None,
    written: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Place]:
    """Places of the APIs that the nearest samples vote for, best first; ties by id.

    Every sample of the operator counts. Of a client's choices, one API gets the best one only, so that
    repeating oneself changes nothing; choices count when `QUORUM` clients agree, and lose weight with age.
    Where as many clients say that an API failed or was not needed, that takes back what choices gave it, and
    no more: an API can lose its votes here, never its place in the other rankings.

    `near` are rows with cosines, nearest first, of APIs that the caller may see; `written` are further votes,
    of what was written about such APIs; `now` is in seconds since the epoch, by default the present.
    """
    tally = tally_votes(intents, near, now, written)
    scores = {api: tallied.total for api, tallied in tally.items() if tallied.total > 0}
    ordered = sorted(scores, key=lambda api: (-scores[api], api))
    return {api: Place(rank, scores[api]) for rank, api in enumerate(ordered, start=1)}


class Tally(msgspec.Struct, frozen=True):
    """What speaks for and against an API, for one request."""

    samples: float = 0.0
    """Votes of the operator's samples, and of what was written."""
    choices: Mapping[str, float] = {}
    """Votes of those who chose it, by client, each in (0, 1]."""
    objections: Mapping[str, float] = {}
    """Votes of those for whom it failed, or who did not need it, likewise."""

    @property
    def total(self) -> float:
        """What it comes to, at least 0. Choices, and objections likewise, count from `QUORUM` clients on."""
        return self.samples + max(0.0, _agreed(self.choices) - _agreed(self.objections))

    @property
    def words(self) -> str:
        """The tally for people; empty where nothing of it counts."""
        parts = ["samples of the operator"] if self.samples else []
        for clients, what in (
            (self.choices, "chose it"),
            (self.objections, "say that it failed or was not needed"),
        ):
            if len(clients) >= QUORUM:
                parts.append(f"{len(clients)} clients {what}")
        return ", ".join(parts)


def tally_votes(
    intents: Intents,
    near: Sequence[tuple[int, float]],
    now: float | None = None,
    written: Mapping[str, float] = MappingProxyType({}),
) -> dict[str, Tally]:
    """What speaks for and against each API that the nearest samples name; arguments as of `vote`."""
    now = time.time() if now is None else now
    trusted: dict[str, float] = defaultdict(float, written)
    said: dict[bool, dict[str, dict[str, float]]] = {True: defaultdict(dict), False: defaultdict(dict)}
    counted: Counter[str] = Counter()
    for row, cosine in near:
        weight, api, client = cosine**_SHARPNESS, intents.apis[row], intents.clients[row]
        counted[client] += 1
        if counted[client] > NEIGHBOURS:  # nobody's samples take the place of somebody else's
            continue
        if not client:
            trusted[api] += weight
            continue
        # By whole days: the same request a moment later has the same answer.
        weight *= 0.5 ** (max(0.0, now - intents.times[row]) // _DAY / HALF_LIFE_DAYS)
        mine = said[intents.chosen(row)][api]
        mine[client] = max(weight, mine.get(client, 0.0))
    chosen, refused = said[True], said[False]
    return {
        api: Tally(trusted.get(api, 0.0), chosen.get(api, {}), refused.get(api, {}))
        for api in (*trusted, *(key for key in (*chosen, *refused) if key not in trusted))
    }


def _agreed(clients: Mapping[str, float]) -> float:
    return sum(clients.values()) if len(clients) >= QUORUM else 0.0
