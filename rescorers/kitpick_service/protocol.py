"""The native protocol, version 1: messages of `POST /v1/rescore` and `POST /v1/search`.

`docs/protocol.md` explains it.

Vectors are float32 values, little-endian, as base64.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec

from kitpick_engines.document import Effect, Parameter
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import (
    MAX_CANDIDATES,
    MAX_PLACED,
    MAX_QUERY_CHARACTERS,
    MAX_READ_AS,
    MAX_USED,
    Hit,
)
from kitpick_rescorers.state import (
    MAX_HELD,
    Degradation,
    HeldIdentifier,
    Need,
    QueryKindEstimate,
    StageTrace,
)

Name = Annotated[str, msgspec.Meta(max_length=2_000)]
Milliseconds = Annotated[int, msgspec.Meta(ge=1, le=600_000)]
VectorBytes = Annotated[bytes, msgspec.Meta(min_length=4, max_length=4 * 16_384)]


class WirePlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where one ranking of the first stage found a candidate."""

    rank: Annotated[int, msgspec.Meta(ge=1, le=1_000_000_000)]
    """From 1."""
    score: float = 0.0


class Fields(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An API description in parts, for callers that do not store the finished text."""

    description: str = ""
    parameters: Annotated[tuple[Parameter, ...], msgspec.Meta(max_length=10_000)] = ()


Things = Annotated[tuple[Annotated[str, msgspec.Meta(max_length=400)], ...], msgspec.Meta(max_length=100)]


HeldIdentifiers = Annotated[tuple[HeldIdentifier, ...], msgspec.Meta(max_length=MAX_HELD)]


class WireCandidate(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """An API that the first stage proposes. One of `text` and `fields` says what it does."""

    id: Annotated[str, msgspec.Meta(min_length=1, max_length=2_000)]
    """Comes back in the answer. The same id twice is one candidate with the places of both."""
    tool: Name = ""
    category: Name = ""
    api: Name = ""
    text: str | None = None
    """The rerank text, as ingestion stored it."""
    fields: Fields | None = None
    vector: VectorBytes | None = None
    """Vector of the document; only some profiles use it."""
    lexical: WirePlace | None = None
    """Place in the ranking by words."""
    dense: WirePlace | None = None
    """Place in the ranking by vectors."""
    sentence: WirePlace | None = None
    """Place among what the sentences of the query find, each asked by itself."""
    intent: WirePlace | None = None
    """Place among what the nearest sample requests vote for."""
    first: WirePlace | None = None
    """Place in a first stage of unknown kind: counts for each of the two that is not given."""
    deprecated: bool = False
    effect: Effect = Effect.UNKNOWN
    needs: Things = ()
    """What a caller must have found before, as the document holds it; stage `complete` reads it."""
    gives: Things = ()
    """What an answer holds, likewise."""


WireCandidates = Annotated[tuple[WireCandidate, ...], msgspec.Meta(max_length=MAX_CANDIDATES)]


class RescoreCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Body of `POST /v1/rescore`."""

    query: Annotated[str, msgspec.Meta(max_length=MAX_QUERY_CHARACTERS)]
    candidates: WireCandidates
    """In any order: their places say which ranking found them where."""
    protocol: Literal[1] = 1
    profile: Name | Profile | None = None
    """Name of a profile of this service, or the stages themselves; its default profile when absent."""
    k: Annotated[int, msgspec.Meta(ge=0, le=MAX_CANDIDATES)] = 10
    deadline_ms: Milliseconds | None = None
    """The answer is of no use later; the service's own limit when absent, and never more than that."""
    vector: VectorBytes | None = None
    """Vector of the query. When absent and a stage needs it, the service embeds the query."""
    vector_model: Name = ""
    """Identity of the model that made all vectors in this request, as in the index's metadata."""
    intent_trust: Annotated[float, msgspec.Meta(ge=0.0, le=1.0)] = 1.0
    """How far the candidates' `intent` places are to be trusted."""
    fetched: WireCandidates = ()
    """Documents that were fetched because an earlier answer said `need`."""
    complete_tools: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_CANDIDATES)] = ()
    """Keys (`category/tool`) of the tools of which every visible API has been fetched."""
    held: HeldIdentifiers = ()
    """Identifiers that the conversation holds beside the query: nobody need give them."""
    placed_first: Annotated[
        dict[Name, Annotated[str, msgspec.Meta(max_length=500)]], msgspec.Meta(max_length=MAX_PLACED)
    ] = {}
    """Ids of candidates that come first whatever the models say, and why."""
    used: Annotated[tuple[Name, ...], msgspec.Meta(max_length=MAX_USED)] = ()
    """Names of functions that the conversation has called and does not ask for again: they come later."""
    read_as: Annotated[
        tuple[Annotated[str, msgspec.Meta(max_length=500)], ...], msgspec.Meta(max_length=MAX_READ_AS)
    ] = ()
    """How the query was read before the search, for the trace."""
    passages: bool = False
    """Whether of a text that is longer than the cross-encoder reads the passage nearest to the query is
    read: for documents that are no rerank texts, which begin with what tells most."""
    explain: bool = False
    """Whether the answer carries the trace of every stage."""


class ModelInfo(msgspec.Struct, frozen=True):
    """A model that took part, and what its raw numbers mean."""

    identity: str
    """Name and digest: equal identities give equal numbers."""
    score_scale: Literal["logit", "cosine", "probability"]


class RescoreAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Body of the answer. `results` is always the best list so far."""

    request_id: str
    profile: str
    results: tuple[Hit, ...]
    models: dict[str, ModelInfo]
    """By role: `cross_encoder`, `encoder`, `query_kind`."""
    timings: dict[str, float]
    """Milliseconds by stage, `embed` for the query's vector, `wait` in the queue, `total` in the service."""
    protocol: Literal[1] = 1
    query_kind: QueryKindEstimate | None = None
    abstained: bool = False
    """Nothing here is likely to do the job; the results are the nearest there is."""
    abstained_because: str = ""
    degraded: tuple[Degradation, ...] = ()
    """What could not be done, and why; the results stand without it."""
    need: Need | None = None
    """Documents that would improve the list: fetch them, and send them as `fetched`."""
    trace: tuple[StageTrace, ...] = ()


JsonObject = dict[str, Any]


class SearchCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, kw_only=True):
    """Body of `POST /v1/search`: a whole search over an index that only the caller can read."""

    query: Annotated[str, msgspec.Meta(max_length=MAX_QUERY_CHARACTERS)]
    """What somebody wants done, in words."""
    index: Name
    """Name of the live index, which says what it was built with."""
    committed: JsonObject
    """The query for the documents of its last committed state: the filter of the catalog's alias."""
    protocol: Literal[1, 2] = 1
    """2 where the documents of `found` are sent apart from the hits."""
    engine: Literal["opensearch", "elasticsearch"] = "opensearch"
    """Which server runs the searches: they ask for vectors in different words."""
    k: Annotated[int, msgspec.Meta(ge=0, le=MAX_CANDIDATES)] = 10
    """How many hits are wanted. The answer ranks all candidates."""
    tenant: Name = ""
    principals: Annotated[tuple[Name, ...], msgspec.Meta(max_length=1_000)] = ()
    """Who asks; without principals only public APIs are visible."""
    filter: JsonObject | None = None
    """A query of the caller's that every document must match."""
    profile: Name | Profile | None = None
    """As in `RescoreCall`."""
    deadline_ms: Milliseconds | None = None
    held: HeldIdentifiers = ()
    """As in `RescoreCall`."""
    explain: bool = False
    """Whether the ranking carries the trace of every stage."""
    found: Annotated[tuple[tuple[JsonObject, ...], ...], msgspec.Meta(max_length=20)] = ()
    """Answers of the search server to the searches of each earlier answer, in their order. From protocol 2 on
    a hit may have `document`, the place of its content in `documents`, and in `_source` what is beside it."""
    documents: tuple[msgspec.Raw, ...] = ()
    """What hits hold that is the same for every query: in full, or as the hash of what was sent before."""


class SearchAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Body of the answer: searches to run, documents to send in full, or the ranking."""

    request_id: str
    protocol: Literal[1, 2] = 2
    """The newest protocol that this service takes calls of."""
    missing: tuple[int, ...] = ()
    """Places in `documents` of hashes that are not known here: call again at once, with those in full."""
    searches: tuple[JsonObject, ...] = ()
    """Search bodies. Call again with what they find at the end of `found`; empty once there is a ranking."""
    ranking: RescoreAnswer | None = None


class Problem(msgspec.Struct, frozen=True):
    """What went wrong. `code` is for programs, `message` for people."""

    code: str
    message: str
    request_id: str


class ErrorAnswer(msgspec.Struct, frozen=True):
    """Body of every answer that is not 200."""

    error: Problem
