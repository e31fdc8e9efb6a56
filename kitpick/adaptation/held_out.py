"""Requests for held-out catalogs: they tell what a threshold refuses if there are no judged requests.

`held_out.json` has the probabilities that a list ranker gave to answerable requests, one for each of many
providers. `scripts/bench refusals` makes it. A catalog is compared with held-out ones of about its size.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import msgspec

from kitpick_evaluation.abstention import judge_of, most_refused
from kitpick_foundation.decoding import decode_as
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.stages import Abstain

_FILE = Path(__file__).with_name("held_out.json")


class HeldOutRequests(msgspec.Struct, frozen=True):
    """Answerable requests, each of another provider, in catalogs of one size."""

    ranker: str
    """Identity of the list ranker that judged them."""
    of: str
    """What they are: `one request each of 222 MCP servers`."""
    apis: int
    """Size of the catalogs, in the middle."""
    answerable: tuple[float, ...]
    """What the ranker said: probability that anything in the list serves the request."""
    best: tuple[float, ...]
    """The best probability by the cross-encoder where it was below `known_below`; 1 where it was not."""
    known_below: float

    def refused(self, profile: Profile, threshold: float) -> int | None:
        """How many of them the profile refuses with this threshold of its list ranker; None if unknown."""
        floor = _floor(profile)
        if floor > self.known_below:
            return None
        judged = zip(self.answerable, self.best, strict=True)
        return sum(answerable < threshold or best < floor for answerable, best in judged)

    def told(self, refused: int) -> str:
        """In words: how many are refused, and how many of all such requests at most."""
        requests = len(self.answerable)
        worst = 100 * most_refused(refused, requests)
        bound = f"at most {worst:.1f} % of such requests with a confidence of 95 %"
        return f"{refused} of {requests} refused, {bound}"


def _floor(profile: Profile) -> float:
    """The probability below which the cross-encoder alone refuses, beside the list ranker's verdict."""
    judge = judge_of(profile)
    if judge is not None and judge.overrules:
        return 0.0
    floors = [each.threshold for each in profile.stages if isinstance(each, Abstain)]
    return max((math.inf if each is None else each for each in floors), default=0.0)


def held_out_requests(ranker: str, apis: int) -> HeldOutRequests | None:
    """The requests judged by this list ranker whose catalogs are nearest in size, if there are any."""
    own = [each for each in _all() if each.ranker == ranker]
    return min(own, key=lambda each: abs(math.log(each.apis / max(apis, 1))), default=None)


@cache
def _all() -> tuple[HeldOutRequests, ...]:
    return decode_as(_FILE.read_bytes(), tuple[HeldOutRequests, ...])
