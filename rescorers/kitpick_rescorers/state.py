"""The state of a pipeline: immutable values, from the request to the trace of every stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Candidate, Vector
from kitpick_foundation.deadline import UNLIMITED, Deadline
from kitpick_rescorers.errors import StageUnavailable

if TYPE_CHECKING:  # a search itself hides nothing
    from kitpick_foundation.places import HiddenPlaces

Matrix = NDArray[np.float64]


class Ranked(msgspec.Struct, frozen=True, eq=False):
    """A candidate at its present place in the list.

    `score` is what the last scoring stage gave it; rules such as concentrate move candidates, not scores.
    """

    candidate: Candidate
    tool: str
    """The tool key of the candidate, computed once."""
    first_rank: int
    """Position from 1 in the first-stage order; those fetched on a need share the one after the last."""
    fetched: bool = False
    """It was not proposed by the first stage: a stage asked for it."""
    score: float = 0.0
    logit: float | None = None
    """Raw cross-encoder score; None where it was not scored."""
    probability: float | None = None
    """Calibrated probability in [0, 1] that the API is relevant; None where it was not scored."""

    @property
    def id(self) -> str:
        """The candidate's id."""
        return self.candidate.id

    @property
    def tie(self) -> tuple[int, str]:
        """Order among equal scores: first-stage rank, then id."""
        return (self.first_rank, self.candidate.id)


class QueryKindEstimate(msgspec.Struct, frozen=True):
    """Whether one tool or several are wanted."""

    kind: Literal["single", "multi"]
    probability_multi: float


class Neighbours(msgspec.Struct, frozen=True):
    """A need for the k documents of largest inner product with a vector."""

    vector: bytes
    """float32 values, little-endian; JSON carries them as base64."""
    k: int

    @classmethod
    def of(cls, vector: Matrix | Vector, k: int) -> Neighbours:
        """Packs a vector (d,)."""
        return cls(np.asarray(vector, dtype="<f4").tobytes(), k)

    @property
    def array(self) -> Vector:
        """The vector, float32 (d,)."""
        return np.frombuffer(self.vector, dtype="<f4").astype(np.float32)


class HeldIdentifier(msgspec.Struct, frozen=True):
    """An identifier that a conversation already holds: in a message, or in the result of a tool.

    Stage `complete` and the plan of an answer then draw in no API to give it.
    """

    name: Annotated[str, msgspec.Meta(max_length=200)]
    """Names the thing that it identifies: `artist_id`, `artists id`, `folder`. A key that says too little, as
    `id` does, comes after the name of the object or call that holds it. Empty: it may identify anything."""
    value: Annotated[str, msgspec.Meta(max_length=500)]
    """As it was written."""


MAX_HELD = 200
"""How many identifiers may come with a request; of a longer conversation, the latest."""


class Need(msgspec.Struct, frozen=True, omit_defaults=True):
    """Documents a stage wants to see that were not among the candidates. The caller may fetch them."""

    apis_of_tools: tuple[str, ...] = ()
    """Tool keys of which all APIs are wanted."""
    neighbours: Neighbours | None = None


class Degradation(msgspec.Struct, frozen=True):
    """A stage that could not do (all of) its work, and why. It left the order as it was."""

    stage: str
    """Name of the stage, or of the step before the first."""
    reason: str
    """What was missing, where, and the cure."""


LONG_REQUEST = "long_request"
"""Name of what is said of a request that is not read, by everything or by one model, to its end."""
TRANSLATE = "translate"
"""The step that puts requests of other languages into English, where a profile wants it."""


def joined(*lists: Iterable[Degradation]) -> tuple[Degradation, ...]:
    """What several steps say is degraded, in their order, each entry once."""
    return tuple(dict.fromkeys(each for said in lists for each in said))


def without_places(degraded: Iterable[Degradation], places: HiddenPlaces) -> tuple[Degradation, ...]:
    """What is degraded, for callers who are not told where files and servers are."""
    return tuple(msgspec.structs.replace(each, reason=places.hidden(each.reason)) for each in degraded)


def faults(degraded: Sequence[Degradation]) -> list[Degradation]:
    """What went wrong with what ranks, as far as it is not the request that could not be read in full.

    Of one in a language that no model reads, the stages that miss its scores are no news.
    """
    if any(each.stage == "language" for each in degraded):
        return []
    return [each for each in degraded if each.stage != LONG_REQUEST]


ANSWERABLE = "answerable"
"""Name of the detail that is the probability that anything in a list serves the request."""


class StageTrace(msgspec.Struct, frozen=True):
    """The record of one stage. `order` and `scores` are the list after it, best first."""

    stage: str
    milliseconds: float
    order: tuple[str, ...]
    scores: tuple[float, ...]
    reasons: Mapping[str, str]
    """Reasons by candidate id, for the candidates that the stage says something about."""
    note: str = ""
    """One sentence about the stage as a whole."""
    skipped: str = ""
    """Why it did not run; empty when it did."""
    details: Mapping[str, float] = {}
    """Numbers worth keeping, e.g. a solver's certificate."""


class State(msgspec.Struct, frozen=True, eq=False, kw_only=True):
    """Input and output of a stage. `reasons`, `note` and `details` are the report of the running stage."""

    query: str
    vector: Matrix | None
    """Query vector (d,), finite; None where there is none."""
    ranked: tuple[Ranked, ...]
    complete_tools: frozenset[str] = frozenset()
    """Tool keys of which every visible API is among the candidates already."""
    intent_trust: float = 1.0
    """Factor of the weight of the `intent` ranking."""
    held: tuple[HeldIdentifier, ...] = ()
    """Identifiers that the conversation holds beside the query."""
    kind: QueryKindEstimate | None = None
    abstained: str = ""
    """Why nothing in the list can be trusted to do the job; empty when something can."""
    need: Need = Need()
    degraded: tuple[Degradation, ...] = ()
    reasons: Mapping[str, str] = {}
    note: str = ""
    details: Mapping[str, float] = {}
    trace: tuple[StageTrace, ...] = ()
    deadline: Deadline = UNLIMITED
    """When nobody waits any more: loops of stages check it."""

    def with_ranked(self, ranked: Iterable[Ranked], reasons: Mapping[str, str], note: str = "") -> State:
        """The state with another list, and the reason for the place of each candidate."""
        return msgspec.structs.replace(self, ranked=tuple(ranked), reasons=reasons, note=note)

    def with_note(self, note: str, **changes: object) -> State:
        """The state with `changes` and a sentence about them."""
        return msgspec.structs.replace(self, note=note, **changes)

    def degrading(self, stage: str, reason: str) -> State:
        """The state with one more entry under `degraded`."""
        return msgspec.structs.replace(self, degraded=(*self.degraded, Degradation(stage, reason)))

    def lacking_vectors(self, stage: str, count: int) -> State:
        """The state, degraded if `count` candidates have no usable vector."""
        return self.degrading(stage, f"{count} candidates without a usable vector") if count else self

    @property
    def scored(self) -> tuple[Ranked, ...]:
        """Candidates that the cross-encoder has scored, in order."""
        return tuple(item for item in self.ranked if item.probability is not None)


def head_and_tail(state: State, size: int | None = None) -> tuple[tuple[Ranked, ...], tuple[Ranked, ...]]:
    """Splits the list into the head that a rule works on and the unchanged tail.

    The head is what the cross-encoder has scored, or the whole list where nothing was scored; `size` bounds
    it, except that candidates fetched on a need always belong to it.
    """
    wanted = state.scored or state.ranked
    proposed = [item.id for item in wanted if not item.fetched][:size]
    kept = {*proposed, *(item.id for item in wanted if item.fetched)}
    head = tuple(item for item in state.ranked if item.id in kept)
    return head, tuple(item for item in state.ranked if item.id not in kept)


def direction_of(state: State) -> Matrix:
    """Unit query vector (d,).

    Raises:
        StageUnavailable: the request has none.
    """
    if state.vector is None:
        raise StageUnavailable("the request has no usable query vector")
    direction: Matrix = state.vector / np.linalg.norm(state.vector)
    return direction


def by_score(items: Iterable[Ranked], score: Callable[[Ranked], float]) -> list[Ranked]:
    """Descending by score, ties by first-stage rank, then id."""
    return sorted(items, key=lambda item: (-score(item), *item.tie))


def unit_vectors(items: Sequence[Ranked], dimensions: int | None = None) -> tuple[Matrix, int]:
    """Document vectors as rows of unit length, float64 (n, d), and how many are unusable.

    A vector of another length than `dimensions` (the first one's where None), with a value that is not
    finite, or of length zero becomes a row of zeros: similar to nothing.
    """
    if dimensions is None:
        dimensions = len(items[0].candidate.vector) if items else 0
    rows = np.zeros((len(items), dimensions))
    for row, item in zip(rows, items, strict=True):
        if item.candidate.vector.shape == (dimensions,):
            row[:] = item.candidate.vector
    norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
    usable = np.isfinite(norms) & (norms > 0)
    rows[~usable] = 0.0
    rows[usable] /= norms[usable, None]
    return rows, int(len(items) - usable.sum())


def has_third_ranking(items: Iterable[Ranked]) -> bool:
    """Whether the request's sentences or votes of sample requests made the list beside words and vectors."""
    return any(item.candidate.sentence or item.candidate.intent for item in items)


def lacks_dense(state: State) -> str:
    """Why vectors say nothing of the candidates; empty where they do."""
    if state.vector is None or not any(item.candidate.dense is not None for item in state.ranked):
        return "the candidates come without a dense ranking"
    return ""


def lexical_scores(items: Sequence[Ranked]) -> Matrix:
    """Scores in the lexical ranking (n,), 0 where no word was found."""
    places = [item.candidate.lexical for item in items]
    return np.array([max(place.score, 0.0) if place else 0.0 for place in places])


def cosines_of(state: State, items: Sequence[Ranked]) -> Matrix:
    """Cosines (n,) with the request; a candidate without a usable vector has the mean of the others.

    Zeros where the request or every candidate has none.
    """
    if state.vector is None:
        return np.zeros(len(items))
    vectors, _ = unit_vectors(items, len(state.vector))
    cosines, usable = vectors @ direction_of(state), vectors.any(axis=1)
    return np.where(usable, cosines, cosines[usable].mean() if usable.any() else 0.0)
