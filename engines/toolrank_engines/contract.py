"""What an engine must do. One page; every engine passes the suite in `tests/engines/contract_suite.py`.

An engine holds *indexes*. One of them is live: searches read it. Writing goes through a session whose effects
become visible together when it ends. A change of model or text template builds a second index beside the live
one (`ensure` returns its name) and `swap` makes it the live one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Literal, Protocol, runtime_checkable

import msgspec
import numpy as np
from numpy.typing import NDArray

from toolrank_engines.document import ApiDocument, Effect

Vector = NDArray[np.float32]
SLOTS = 65_536


class IndexSchema(msgspec.Struct, frozen=True):
    """What a stored vector and text depend on. A different fingerprint needs a different index."""

    model: str
    """Name and digest of the encoder, e.g. `minilm-l6@3f2a…`."""
    dimensions: int
    template: int
    """Version of `toolrank_engines.text`."""

    @property
    def fingerprint(self) -> str:
        """Twelve hex digits that identify the schema."""
        return hashlib.blake2b(msgspec.json.encode(self), digest_size=6).hexdigest()


class Filter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who asks, and what they want to see. Applied inside both rankings, before any score is computed.

    No principals means that only public APIs are visible; there is no value that switches permissions off.
    Empty `categories`, `tools` (tool keys) and `effects` mean no restriction.
    """

    tenant: str = ""
    principals: frozenset[str] = frozenset()
    categories: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    effects: frozenset[Effect] = frozenset()
    deprecated: Literal["include", "exclude", "only"] = "include"


class IndexedDocument(msgspec.Struct, frozen=True):
    """A document with what was computed from it: a unit vector of float32 (d,)."""

    document: ApiDocument
    vector: Vector


class Place(msgspec.Struct, frozen=True):
    """Position (from 1) and score of a candidate in one first-stage ranking."""

    rank: int
    score: float


RankingName = Literal["lexical", "dense", "intent", "sentence"]


class Candidate(msgspec.Struct, frozen=True):
    """An API proposed by the first stage, with its place in each ranking that found it."""

    id: str
    category: str
    tool: str
    api: str
    text: str
    """The rerank text, as `toolrank_engines.text.rerank_text` wrote it."""
    vector: Vector
    lexical: Place | None = None
    dense: Place | None = None
    deprecated: bool = False
    effect: Effect = Effect.UNKNOWN
    intent: Place | None = None
    """Its place among what the nearest sample requests vote for; engines leave it open."""
    sentence: Place | None = None
    """Its place among what the request's sentences find, each asked by itself."""

    @property
    def tool_key(self) -> str:
        """Identity of the tool, as in `ApiDocument.tool_key`."""
        from toolrank_engines.document import tool_key

        return tool_key(self.category, self.tool)

    @property
    def places(self) -> dict[RankingName, Place | None]:
        """Its place in every ranking, None where that did not find it."""
        return {
            "lexical": self.lexical,
            "dense": self.dense,
            "intent": self.intent,
            "sentence": self.sentence,
        }


class Sentence(msgspec.Struct, frozen=True):
    """A part of a request that is asked by itself as well."""

    text: str
    vector: Vector | None


class SearchRequest(msgspec.Struct, frozen=True):
    """One request for candidates: either ranking is left out by an empty text or a missing vector."""

    text: str
    vector: Vector | None
    size: int
    """How many of each ranking, at most."""
    filter: Filter = Filter()
    sentences: tuple[Sentence, ...] = ()
    """What else is asked, see `toolrank_engines.sentences`."""


class IndexStats(msgspec.Struct, frozen=True):
    """What an index holds."""

    index: str
    schema: IndexSchema
    documents: int
    by_source: dict[str, int]
    bytes: int


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


class JobPart(msgspec.Struct, frozen=True):
    """One of several parts of a job, which share no document: each is written by a process of its own."""

    job: str
    """The same for all parts, and for every attempt."""
    number: int
    """From 1."""
    parts: int

    @property
    def slots(self) -> range:
        """The slots whose documents belong to this part."""
        return range(SLOTS * (self.number - 1) // self.parts, SLOTS * self.number // self.parts)

    def holds(self, document_id: str) -> bool:
        """Whether a document belongs to this part."""
        return slot_of(document_id) in self.slots


def slot_of(document_id: str) -> int:
    """A number below `SLOTS`, by a digest of the id: parts are ranges of slots, which is quick to search."""
    digest = hashlib.blake2b(document_id.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return int.from_bytes(digest, "big") % SLOTS


class Engine(Protocol):
    """A store of documents that answers two rankings at once. Safe to use from several threads."""

    url: str

    def live(self) -> tuple[str, IndexSchema] | None:
        """Name and schema of the live index, None before the first one."""

    def ensure(self, schema: IndexSchema) -> str:
        """Name of the index to write for this schema: the live one, or one beside it (resumed if begun).

        The very first index is live at once.
        """

    def swap(self, index: str) -> None:
        """Makes `index` the live one and drops all others. Searches see either, never a mixture.

        Raises:
            UnknownIndex: there is no index of this name; so do `writing`, `hashes` and `documents`.
        """

    def writing(self, index: str) -> AbstractContextManager[Writer]:
        """A session: its changes become visible together at the end, or not at all on an exception.

        An engine that cannot promise this says so in its docstring.
        """

    def hashes(self, index: str, source: str | None = None) -> Iterator[tuple[str, str]]:
        """Pairs (id, content hash) of one source's documents, or of all, ordered by id."""

    def documents(self, index: str) -> Iterator[IndexedDocument]:
        """Every document with its vector, ordered by id: for copies and rebuilds, so without a filter."""

    def search(self, request: SearchRequest) -> list[Candidate]:
        """Candidates of both rankings in one round trip, best lexical or dense rank first, ties by id.

        Equal scores within a ranking are ordered by id. What only sentences found follows, by that place.

        Raises:
            InvalidVector: the query vector has the wrong length or is not finite.
        """

    def apis_of_tools(self, tools: Iterable[str], filter: Filter, limit: int) -> list[Candidate]:  # noqa: A002
        """All visible APIs of these tools (keys), ordered by id, at most `limit`, without places."""

    def neighbours(self, vector: Vector, k: int, filter: Filter) -> list[Candidate]:  # noqa: A002
        """The k visible documents of largest inner product with a vector of any length ‖v‖ > 0."""

    def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
        """Whole documents in the order of `ids`; unknown and forbidden ones are left out."""

    def stats(self) -> IndexStats | None:
        """What the live index holds, None before the first one."""

    def close(self) -> None:
        """Releases files and connections."""


@runtime_checkable
class PartedEngine(Engine, Protocol):
    """An engine that several processes can write to at the same time."""

    def writing_part(self, index: str, part: JobPart) -> AbstractContextManager[Writer]:
        """A session as `writing` gives it, beside those of the other parts of the job.

        Its changes become visible when it ends, whether the others have ended or not.
        """

    def hashes(
        self, index: str, source: str | None = None, part: JobPart | None = None
    ) -> Iterator[tuple[str, str]]:
        """As `Engine.hashes`, of one part only."""
