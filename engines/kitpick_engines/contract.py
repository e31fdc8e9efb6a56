"""The contract of an engine. Every engine passes the suite in `tests/engines/contract_suite.py`.

An engine holds *indexes*. One of them is live: searches read it. Writing goes through a session whose effects
become visible together when it ends. A change of model or text template builds a second index beside the live
one (`ensure` returns its name) and `swap` makes it the live one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import AbstractContextManager
from typing import Annotated, Literal, Protocol, TypeVar, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument, Effect, tool_key
from kitpick_engines.errors import InvalidVector

DocumentKey = TypeVar("DocumentKey", int, str)
"""Identifies a document within an engine: its position, or its id."""


def checked_vector(vector: Vector, dimensions: int) -> Vector:
    """The vector as float32 (d,).

    Raises:
        InvalidVector: the length is wrong, or a value is not finite.
    """
    with np.errstate(over="ignore"):
        array = np.asarray(vector, dtype=np.float32)
    if array.shape != (dimensions,):
        raise InvalidVector(f"shape {array.shape}, this index holds vectors of shape ({dimensions},)")
    if not np.isfinite(array).all():
        raise InvalidVector("a vector has a value that is not finite")
    return array


Vector = NDArray[np.float32]
MAX_DIMENSIONS = 65_536
"""No encoder has as many. Where an index says more, a stranger wrote it to fill the memory."""


class IndexSchema(msgspec.Struct, frozen=True, omit_defaults=True):
    """The model and text template that an index was built with. Another fingerprint needs another index.

    Schemas are equal if their fingerprints are: whatever set a model belongs to, its vectors are the same.
    """

    model: str
    """Name and digest of the encoder, e.g. `encoder-pair@3f2a…`."""
    dimensions: Annotated[int, msgspec.Meta(ge=1, le=MAX_DIMENSIONS)]
    template: int
    """Version of `kitpick_engines.text`."""
    models: str = ""
    """Name of the model set that the encoder belongs to; empty where it was chosen alone."""

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that identify the schema."""
        built = msgspec.json.encode(msgspec.structs.replace(self, models=""))
        return hashlib.blake2b(built, digest_size=6).hexdigest()

    def _built(self) -> tuple[str, int, int]:
        return self.model, self.dimensions, self.template

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IndexSchema) and self._built() == other._built()

    def __hash__(self) -> int:
        return hash(self._built())


_DEPRECATED = ("include", "exclude", "only")


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The caller of a search, and the wanted documents. Applied inside both rankings, before any scoring.

    Without principals only public APIs are visible; no value switches permissions off.
    Empty `categories`, `tools` (tool keys) and `effects` mean no restriction.
    """

    tenant: str = ""
    """The caller sees shared documents, and those of this tenant."""
    principals: frozenset[str] = frozenset()
    """Names and groups of the caller; an API with `allowed` needs one of them."""
    categories: frozenset[str] = frozenset()
    """Only APIs of these categories."""
    tools: frozenset[str] = frozenset()
    """Only APIs of these tools, as `category/tool`."""
    effects: frozenset[Effect] = frozenset()
    """Only APIs that have one of these effects."""
    deprecated: Literal["include", "exclude", "only"] = "include"
    """Include deprecated APIs, exclude them, or find only them."""

    def __post_init__(self) -> None:
        """Takes lists and tuples in place of sets.

        Raises:
            TypeError: a text in place of a set, of which each letter would be a name; or another type.
            ValueError: an effect or a way with deprecated APIs that there is not.
        """
        if not isinstance(self.tenant, str):
            raise TypeError(f"tenant: a text is wanted, empty for none, not {type(self.tenant).__name__}")
        for name in ("principals", "categories", "tools"):
            msgspec.structs.force_setattr(self, name, _names(name, getattr(self, name)))
        effects = frozenset(map(_effect, _names("effects", self.effects)))
        msgspec.structs.force_setattr(self, "effects", effects)
        if self.deprecated not in _DEPRECATED:
            ways = ", ".join(_DEPRECATED)
            raise ValueError(f"deprecated: one of {ways} is wanted, not {self.deprecated!r}")


def _effect(name: str) -> Effect:
    try:
        return Effect(name)
    except ValueError as error:
        known = ", ".join(Effect)
        raise ValueError(f"effects: each is one of {known}, not {name!r}") from error


def _names(field: str, given: object) -> frozenset[str]:
    """The names of a field, from any collection of texts."""
    if isinstance(given, Set | list | tuple) and all(isinstance(each, str) for each in given):
        return frozenset(given)
    found = repr(given) if isinstance(given, str) else type(given).__name__
    raise TypeError(f"{field}: a set of names is wanted, such as {{'a', 'b'}}, not {found}")


class IndexedDocument(msgspec.Struct, frozen=True):
    """A document with its vector: a unit vector, float32 (d,)."""

    document: ApiDocument
    vector: Vector


class Place(msgspec.Struct, frozen=True):
    """Position (from 1) and score of a candidate in one first-stage ranking."""

    rank: int
    score: float


def by_best_rank(
    lexical: Mapping[DocumentKey, Place], dense: Mapping[DocumentKey, Place]
) -> list[DocumentKey]:
    """The keys of both rankings: the best rank in either first, ties by key."""
    ranks = ((places[key].rank, key) for places in (lexical, dense) for key in places)
    return list(dict.fromkeys(key for _, key in sorted(ranks)))


RankingName = Literal["lexical", "dense", "intent", "sentence"]


class Candidate(msgspec.Struct, frozen=True):
    """An API proposed by the first stage, with its place in each ranking that found it."""

    id: str
    category: str
    tool: str
    api: str
    text: str
    """The rerank text, as `kitpick_engines.text.rerank_text` wrote it."""
    vector: Vector
    lexical: Place | None = None
    dense: Place | None = None
    deprecated: bool = False
    effect: Effect = Effect.UNKNOWN
    intent: Place | None = None
    """Its place by the votes of the nearest sample requests; engines do not set it."""
    sentence: Place | None = None
    """Its place in the ranking by the request's sentences."""
    needs: tuple[str, ...] = ()
    """Things that a caller must have found before, as `ApiDocument.needs`."""
    gives: tuple[str, ...] = ()
    """Things that an answer holds, as `ApiDocument.gives`."""

    @property
    def tool_key(self) -> str:
        """Identity of the tool, as in `ApiDocument.tool_key`."""
        return tool_key(self.category, self.tool)

    @property
    def places(self) -> dict[RankingName, Place | None]:
        """Its place in every ranking, None if that ranking did not find it."""
        return {
            "lexical": self.lexical,
            "dense": self.dense,
            "intent": self.intent,
            "sentence": self.sentence,
        }


class Sentence(msgspec.Struct, frozen=True):
    """A sentence of a request, which is also searched by itself."""

    text: str
    vector: Vector | None


class SearchRequest(msgspec.Struct, frozen=True):
    """A request for candidates. Without text there is no lexical ranking, without vector no dense one."""

    text: str
    vector: Vector | None
    size: int
    """How many candidates of each ranking at most."""
    filter: Filter = Filter()
    sentences: tuple[Sentence, ...] = ()
    """Sentences that are also searched, see `kitpick_engines.sentences`."""
    model: str = ""
    """Identity of the model that made all vectors; if empty, the model of the index is assumed."""
    named: bool = False
    """Whether the texts are names: then stop words count, and sentences have as many candidates."""

    def over(self, schema: IndexSchema) -> SearchRequest:
        """The request without vectors if those of the index are of another model, else unchanged."""
        if self.model in ("", schema.model):
            return self
        sentences = tuple(Sentence(each.text, None) for each in self.sentences)
        return msgspec.structs.replace(self, vector=None, sentences=sentences)


class Candidates(list[Candidate]):
    """The candidates of a search, with the schema of the index they were read from; None if none is live.

    `damaged` counts documents whose vector is lost, by source: they are found by words alone.
    """

    def __init__(
        self,
        found: Iterable[Candidate] = (),
        schema: IndexSchema | None = None,
        damaged: Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(found)
        self.schema = schema
        self.damaged = damaged or {}


class IndexStats(msgspec.Struct, frozen=True):
    """Statistics of an index."""

    index: str
    schema: IndexSchema
    documents: int
    by_source: dict[str, int]
    bytes: int
    changed: float | None = None
    """When the last session that changed something was committed, in seconds since 1970. None where nobody
    wrote that down: by a version from before 29 November 2026."""


class Writer(Protocol):
    """Collects changes of one session. Order does not matter across different ids."""

    def write(self, batch: Sequence[IndexedDocument]) -> None:
        """Adds documents, replacing those of the same id; the last of equal ids in a batch counts.

        Raises:
            InvalidVector: wrong length or not finite; nothing of the batch is kept.
            InvalidDocument: refused by `validate_document`; nothing of the batch is kept.
        """

    def delete(self, ids: Iterable[str]) -> None:
        """Removes documents; unknown ids are ignored."""


class RestrictedDocument(msgspec.Struct, frozen=True):
    """A document that not everybody may see."""

    id: str
    tenant: str
    """The tenant it belongs to; empty if all tenants share it."""
    limited: bool
    """Whether only certain principals may see it."""


class Engine(Protocol):
    """A store of documents that returns two rankings in one call. Safe to use from several threads."""

    url: str

    def live(self) -> tuple[str, IndexSchema] | None:
        """Name and schema of the live index, None before the first one."""

    def ensure(self, schema: IndexSchema) -> str:
        """Name of the index to write for this schema: the live one, or one beside it.

        An unfinished index is resumed. The very first index is live immediately.
        """

    def swap(self, index: str) -> None:
        """Makes `index` the live one and drops all others. Searches see either, never a mixture.

        Raises:
            UnknownIndex: there is no index of this name. All others that take a name raise it too.
        """

    def writing(self, index: str) -> AbstractContextManager[Writer]:
        """A session: its changes become visible together at the end, or not at all on an exception.

        An engine that cannot promise this says so in its docstring.
        """

    def hashes(self, index: str, source: str | None = None) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) of one source's documents, or of all, ordered by id.

        The hash is empty if the stored vector is lost, so that a sync writes the document again.
        """

    def restricted(self, index: str, source: str) -> Iterator[RestrictedDocument]:
        """The documents of a source that not everybody may see, ordered by id."""

    def documents(self, index: str) -> Iterator[IndexedDocument]:
        """Every document with its vector, ordered by id: for copies and rebuilds, so without a filter.

        A stored vector that is lost is returned as zeros.
        """

    def search(self, request: SearchRequest) -> Candidates:
        """Candidates of both rankings in one round trip, best lexical or dense rank first, ties by id.

        Equal scores within a ranking are ordered by id. Candidates that only sentences found follow, by that
        place. Vectors of another model than the index's find nothing, see `SearchRequest.over`.

        Raises:
            InvalidVector: the query vector has the wrong length or is not finite.
        """

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """All visible APIs of these tools (by key), ordered by id, at most `limit`, without places."""

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """The k visible documents of largest inner product with a vector of any length ‖v‖ > 0."""

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Whole documents in the order of `ids`; unknown and invisible ones are left out."""

    def stats(self) -> IndexStats | None:
        """Statistics of the live index, None before the first one."""

    def close(self) -> None:
        """Releases files and connections."""


@runtime_checkable
class CheckedEngine(Engine, Protocol):
    """An engine that compares its vectors with checksums.

    Documents whose vector is lost are found by words alone, with a vector of zeros.
    """

    def damaged(self) -> dict[str, int]:
        """How many documents of the live index have lost their vector, by source; empty if none has.

        Raises:
            CorruptStore: none of the vectors is left.
        """
