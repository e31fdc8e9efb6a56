"""Finds the cause of each missed API, from the trace of the answer."""

from __future__ import annotations

import enum
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import msgspec

from kitpick_evaluation.answer import Answer
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_rescorers.state import StageTrace

EXAMPLES = 5


class Cause(str, enum.Enum):
    """The causes, in the order in which they are checked; the first that applies is reported."""

    PERMISSION = "permission"
    """Whoever asked may not see it."""
    DEPRECATED = "deprecated"
    """It is deprecated: perhaps the judgement is out of date."""
    NEAR_DUPLICATE = "near-duplicate"
    """An API almost like it is among the hits instead."""
    NOT_A_CANDIDATE = "not in candidates"
    """Neither ranking of the first stage proposed it."""
    TRUNCATED = "truncated"
    """It was proposed too far down to be looked at by the cross-encoder."""
    WRONG_KIND = "wrong kind"
    """A rule for the other kind of request, single- or multi-tool, put it down."""
    CROSS_ENCODER = "cross-encoder"
    """It was among the first k until the cross-encoder's score, alone or blended, put it down."""
    HIERARCHY = "hierarchy"
    """It was among the first k until concentrating or diversifying put it down."""
    DECODING = "decoding"
    """It was among the first k until a set decoder (nnn) put it down."""
    BUDGET = "budget"
    """Its definition did not fit."""
    OTHER_STAGE = "other stage"
    """Some further stage put it down."""
    NEVER_NEAR = "never near the top"
    """It was looked at, and no stage put it among the first k."""


_STAGES = {
    "truncate": Cause.TRUNCATED,
    "cross_encode": Cause.CROSS_ENCODER,
    "blend": Cause.CROSS_ENCODER,
    "concentrate": Cause.HIERARCHY,
    "diversify": Cause.HIERARCHY,
    "decode": Cause.DECODING,
    "pack": Cause.BUDGET,
}


class Circumstances(msgspec.Struct, frozen=True):
    """Facts that a trace does not hold."""

    visible: Callable[[str], bool]
    """Whether whoever asks may see an API."""
    deprecated: frozenset[str]
    alike: Callable[[str, str], bool]
    """Whether two APIs are almost the same."""


class Miss(msgspec.Struct, frozen=True):
    """A needed API that is not among the first k hits."""

    query: str
    text: str
    api: str
    cause: Cause
    rank: int | None
    """Its final rank, None if it is not in the list."""
    detail: str


class CauseGroup(msgspec.Struct, frozen=True):
    """All misses of one cause, and the first of them as examples."""

    cause: Cause
    misses: int
    requests: int
    share: float
    """Share of all misses, in [0, 1]."""
    examples: tuple[Miss, ...]


class FailureReport(msgspec.Struct, frozen=True):
    """The misses of one profile, the most frequent cause first."""

    profile: str
    k: int
    relevant: int
    """Number of APIs that should have been found."""
    misses: int
    groups: tuple[CauseGroup, ...]


class FailureCollector:
    """An observer of an evaluation that collects misses.

    Args:
        k: how many hits count.
        kind_of: the true kind of a request, `single` or `multi`.
        circumstances: what a trace does not tell.
    """

    def __init__(self, k: int, kind_of: Callable[[JudgedQuery], str], circumstances: Circumstances) -> None:
        self._k = k
        self._kind_of = kind_of
        self._circumstances = circumstances
        self._misses: defaultdict[str, list[Miss]] = defaultdict(list)
        self._relevant: defaultdict[str, int] = defaultdict(int)

    def __call__(self, profile: str, query: JudgedQuery, answer: Answer) -> None:
        """Records one answer."""
        self._relevant[profile] += len(query.needed)
        self._misses[profile] += misses(query, answer, self._k, self._kind_of(query), self._circumstances)

    def failures(self) -> tuple[FailureReport, ...]:
        """The misses, by profile."""
        return tuple(
            FailureReport(profile, self._k, self._relevant[profile], len(found), tuple(_groups(found)))
            for profile, found in self._misses.items()
        )


def misses(query: JudgedQuery, answer: Answer, k: int, kind: str, circumstances: Circumstances) -> list[Miss]:
    """Every needed API that is not among the first k, with its cause; in the order of their ids.

    Of equally right ones that are all missed it is the one that came nearest.
    """
    hits = answer.ids[:k]
    last = answer.trace[-1].order if answer.trace else answer.ids
    found = []
    ranks = {api: rank for rank, api in enumerate(last, start=1) if api in query.relevant}
    missed = [group for group in query.needed if group.isdisjoint(hits)]
    for api in sorted(min(group, key=lambda api: (ranks.get(api, math.inf), api)) for group in missed):
        cause, detail = _cause(api, answer, k, kind, circumstances)
        rank = ranks.get(api)
        found.append(Miss(query.id, query.text, api, cause, rank, detail))
    return found


def _cause(api: str, answer: Answer, k: int, kind: str, circumstances: Circumstances) -> tuple[Cause, str]:
    if not circumstances.visible(api):
        return Cause.PERMISSION, "not visible to whoever asks"
    if api in circumstances.deprecated:
        return Cause.DEPRECATED, "it is marked as deprecated"
    twin = next((hit for hit in answer.ids[:k] if circumstances.alike(api, hit)), None)
    if twin is not None:
        return Cause.NEAR_DUPLICATE, f"{twin} is a hit"
    if not answer.trace or api not in answer.trace[0].order:
        return Cause.NOT_A_CANDIDATE, "neither ranking proposed it"
    return _from_trace(api, answer, k, kind)


def _from_trace(api: str, answer: Answer, k: int, kind: str) -> tuple[Cause, str]:
    first = answer.trace[0].order.index(api) + 1
    scored = [entry for entry in answer.trace if entry.stage == "cross_encode" and not entry.skipped]
    if any(api not in entry.reasons for entry in scored):
        return Cause.TRUNCATED, f"rank {first} of the first stage, behind what is scored"
    fall = next(_falls(api, answer.trace, k), None)
    if fall is None:
        return Cause.NEVER_NEAR, f"rank {first} of the first stage, and never among the first {k}"
    entry, before, after = fall
    detail = f"{entry.stage}: {before} → {after or 'out'}"
    cause = _STAGES.get(entry.stage, Cause.OTHER_STAGE)
    if cause is Cause.HIERARCHY and answer.kind and answer.kind != kind:
        return Cause.WRONG_KIND, f"{detail}, as if it were {answer.kind}"
    return cause, detail


def _falls(api: str, trace: Sequence[StageTrace], k: int) -> Iterator[tuple[StageTrace, int, int | None]]:
    """Stages that moved an API out of the first k or out of the list, the last one first."""
    ranks = [entry.order.index(api) + 1 if api in entry.order else None for entry in trace]
    for place in range(len(trace) - 1, 0, -1):
        before, after = ranks[place - 1], ranks[place]
        if before is not None and before <= k and (after is None or after > k):
            yield trace[place], before, after


def _groups(found: Sequence[Miss]) -> Iterator[CauseGroup]:
    by_cause: defaultdict[Cause, list[Miss]] = defaultdict(list)
    for miss in found:
        by_cause[miss.cause].append(miss)
    for cause, members in sorted(by_cause.items(), key=lambda item: (-len(item[1]), item[0].value)):
        requests = len({miss.query for miss in members})
        share = len(members) / len(found)
        yield CauseGroup(cause, len(members), requests, share, tuple(members[:EXAMPLES]))
