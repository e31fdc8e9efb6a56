"""One search: prepare → candidates → rank → fetch.

Catalogs, the explain page, evaluation, adapters and the rescorer service run these steps or a part.
The constructor takes what the steps need: an index to read, an encoder, a rescorer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import islice

import msgspec
import numpy as np
from msgspec.structs import replace

from kitpick_engines.contract import (
    Candidate,
    Candidates,
    Filter,
    IndexSchema,
    SearchRequest,
    Sentence,
    Vector,
)
from kitpick_engines.document import ApiDocument
from kitpick_engines.errors import EngineError
from kitpick_foundation.deadline import UNLIMITED, Deadline
from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.visible import is_blank
from kitpick_models.errors import ModelError, ProviderRefused, RuntimeClash
from kitpick_rescorers.contracts import ModelSource, QueryEncoder, SearchedIndex, Voted, Voters
from kitpick_rescorers.errors import EmptyCatalog, InvalidRequest
from kitpick_rescorers.features import wanted_effects
from kitpick_rescorers.named_apis import find_named, names_to_find
from kitpick_rescorers.packing import PackingSizes, pack_results
from kitpick_rescorers.pipeline import in_rounds, rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.reading.request_reading import Reading, as_read, cut_by, is_read_by, read_request
from kitpick_rescorers.request import (
    MAX_PLACED,
    MAX_READ_AS,
    NOTHING_SPOKEN,
    Hit,
    Rescored,
    RescoreRequest,
    Spoken,
)
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.respelling import SecondLook
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import TRANSLATE, Degradation, faults, joined

MAX_SIBLINGS = 500
"""Most APIs that are fetched of needed tools: some have hundreds, and each costs a cross-encoder score."""
_TOLD = 240
"""Characters of a request and of its translation that a trace shows."""
PACKED_FROM = 50
"""How far down the list something may be taken from for a budget: behind that, room is worth more."""
ALL_RANKINGS: frozenset[Requirement] = frozenset({"lexical", "dense", "intent", "sentence"})
_OF_A_VECTOR: frozenset[Requirement] = frozenset({"dense", "intent", "sentence", "vector"})


Rescorer = Callable[[RescoreRequest, Profile], Rescored]
"""Ranks the candidates of a request by the stages of a profile."""
MeasureDefinitions = Callable[[Sequence[ApiDocument]], PackingSizes]
"""Sizes of the documents' definitions, whole and slimmed."""


Translate = Callable[[str], tuple[str, tuple[Degradation, ...]]]
"""A request in English, or as it is with the reason."""


class LocalRescorer:
    """Ranks with the models of this process. Missing models are reported in `degraded`."""

    def __init__(self, models: ModelSource, deadline: Callable[[], Deadline] = lambda: UNLIMITED) -> None:
        """Takes what gives the models, and by when the stages of a request end."""
        self._models = models
        self._deadline = deadline

    def __call__(self, request: RescoreRequest, profile: Profile) -> Rescored:
        """Ranks the candidates.

        Raises:
            InvalidRequest: the request cannot be answered as asked.
            ProviderRefused, RuntimeClash: a device was asked for that cannot be used.
        """
        models, missing = self._models.for_needs(profile.needs())
        rescored = rescore(request, profile, models, self._deadline())
        return replace(rescored, degraded=(*missing, *rescored.degraded))

    def in_english(self, request: str) -> tuple[str, tuple[Degradation, ...]]:
        """A request of another language as the language model puts it; English ones as they are."""
        if not read_request(request).foreign:
            return request, ()
        from kitpick_rescorers.llm.translation import in_english

        models, missing = self._models.for_needs(frozenset({"llm"}))
        english, told = in_english(request, models.llm, self._deadline().left)
        return english, (*missing, *told)


class Query(msgspec.Struct, frozen=True, eq=False):
    """A request in words, with its vectors."""

    text: str
    vector: Vector | None = None
    """Unit vector, float32 (d,); None where none is needed, or none could be had."""
    model: str = ""
    """Identity of the model that made the vectors; empty without them."""
    sentences: tuple[Sentence, ...] = ()
    """Sentences that are searched beside the whole request; without vectors if it has none."""
    degraded: tuple[Degradation, ...] = ()
    """Why there is no vector though one is needed, and what of the request was not read."""
    encoder_reads: bool = False
    """Whether the encoder says that it reads the request's language, which nothing shipped reads."""

    def turned(self, matrix: RequestMatrix | None) -> Query:
        """The query with its vectors turned by a matrix; as it is, with the reason, where none fits."""
        if matrix is None or self.vector is None:
            return self
        if matrix.encoder != self.model or len(matrix.weights) != len(self.vector):
            reason = (
                f"was fitted to vectors of {matrix.encoder}, the encoder in use is {self.model}: "
                "run kitpick adapt again"
            )
            return replace(self, degraded=(*self.degraded, Degradation("request_matrix", reason)))
        sentences = tuple(
            each if each.vector is None else Sentence(each.text, matrix.turned(each.vector))
            for each in self.sentences
        )
        return replace(self, vector=matrix.turned(self.vector), sentences=sentences)

    def over(self, schema: IndexSchema) -> Query:
        """The query as an index of this schema understands it: without vectors of another model."""
        if self.model in ("", schema.model):
            return self
        of_set = f" of the model set {schema.models!r}" if schema.models else ""
        choose = f"choose that set with KITPICK_MODELS={schema.models}, or " if schema.models else ""
        reason = (
            f"the index holds vectors of {schema.model}{of_set}, the encoder in use is {self.model}: "
            f"{choose}ingest any source to rebuild it"
        )
        return self.without_vectors(reason)

    def over_damage(self, damaged: Mapping[str, int]) -> Query:
        """The query over an index of which some vectors are lost, counted by source."""
        if not damaged:
            return self
        by_source = ", ".join(f"{source}: {count:,}" for source, count in damaged.items())
        reason = (
            f"{sum(damaged.values()):,} stored vectors are damaged or missing, their APIs are found by words "
            f"alone: ingest their sources again ({by_source})"
        )
        return replace(self, degraded=(*self.degraded, Degradation("vectors", reason)))

    def without_vectors(self, reason: str) -> Query:
        """The query without vectors, with the reason."""
        sentences = tuple(Sentence(each.text, None) for each in self.sentences)
        degraded = (*self.degraded, Degradation("embed", reason))
        return Query(self.text, sentences=sentences, degraded=degraded)


def prepare(text: str, needs: frozenset[Requirement], encoder: QueryEncoder) -> Query:
    """Embeds a request and its sentences, if something needs their vectors; without what it rules out.

    A long request is cut before, see `as_read`; where the encoder reads less, the query says so.

    Raises:
        ProviderRefused, RuntimeClash: a device was asked for that cannot be used. Whoever asked for a GPU
            must not get slow answers instead of an error; other failures of the model are degradations.
    """
    text, cut = as_read(text)
    reading = read_request(text)
    wanted, parts = reading.embedded, reading.sentences if "sentence" in needs else ()
    bare = Query(text, sentences=tuple(Sentence(part, None) for part in parts), degraded=cut)
    if needs.isdisjoint(_OF_A_VECTOR) or is_blank(text):
        return bare
    try:
        vector, *vectors = encoder.vectors((wanted, *parts))
        sentences = tuple(Sentence(part, own) for part, own in zip(parts, vectors, strict=True))
        cut = (*cut, *cut_by(encoder, "encoder", wanted))
        own = is_read_by(encoder, reading)
        return Query(text, vector, encoder.identity, sentences, cut, own)
    except (ProviderRefused, RuntimeClash):
        raise
    except (ModelError, MissingExtra) as error:
        return bare.without_vectors(str(error))


class SearchHit(Hit, frozen=True, kw_only=True):
    """One API of an answer, with its whole document."""

    document: ApiDocument
    """The document as it was ingested, with its definition byte for byte."""


class SearchOutcome(msgspec.Struct, frozen=True, eq=False):
    """The hits of a search, and the intermediate results of its steps."""

    hits: tuple[SearchHit, ...]
    rescored: Rescored
    slimmed: frozenset[str]
    """Ids of hits whose definitions only fit into the budget without most of their prose."""
    degraded: tuple[Degradation, ...]
    """What could not be done, and why."""
    timings: Mapping[str, float]
    """Milliseconds by step, and by stage as `rescore.STAGE`."""
    seen: RescoreRequest
    """The request as it was ranked last: all candidates that came into sight."""
    unmatched: tuple[str, ...] = ()
    """Sentences that ask for something which no API is like."""


class Search:
    """The steps of a search over one index. Safe to use from several threads."""

    def __init__(
        self,
        index: SearchedIndex,
        encoder: QueryEncoder,
        rescorer: Rescorer,
        measure: MeasureDefinitions,
        voters: Voters | None = None,
        translate: Translate | None = None,
    ) -> None:
        self._index = index
        self._encoder = encoder
        self._rescorer = rescorer
        self._measure = measure
        self._voters = voters
        self._translate = translate

    def over(self, index: SearchedIndex) -> Search:
        """The same search in another index."""
        return Search(index, self._encoder, self._rescorer, self._measure, self._voters, self._translate)

    @FORKS_WAIT
    def run(
        self,
        text: str,
        profile: Profile,
        k: int,
        permitted: Filter,
        budget: int | None = None,
        spoken: Spoken = NOTHING_SPOKEN,
    ) -> SearchOutcome:
        """All steps: the k best APIs for a request in words.

        Args:
            text: what somebody wants done.
            profile: how it is answered.
            k: how many hits at most, at least 0.
            permitted: what whoever asks may see.
            budget: tokens that the definitions of all hits may take together; None for any number.
            spoken: what a conversation brings beside the request.

        Raises:
            EmptyCatalog: nothing is in the index yet.
            EngineError, RescorerError: the request cannot be answered as asked, or not at all.
            ProviderRefused, RuntimeClash: the device asked for cannot be used.
        """
        _require_ranking(profile)
        clock = _Clock()
        english, told = self._in_english(text, profile)
        if profile.first_stage.translate:
            clock.lap("translate")
        asked = self.prepare(english, profile.needs())
        asked = replace(asked, degraded=(*told, *asked.degraded))
        clock.lap("embed")
        size = profile.first_stage.size_for(k)
        matrix = profile.request_matrix()
        query, request = self.candidates(
            asked, profile.needs(), size, permitted, matrix, text if english != text else ""
        )
        clock.lap("first_stage")
        rescored, seen, slimmed = self._ranked(
            replace(request, k=k, held=spoken.held, used=spoken.used), profile, permitted, budget
        )
        clock.lap("rescore")
        hits = self._hits(rescored, permitted)
        clock.lap("fetch")
        stages = {f"rescore.{stage}": spent for stage, spent in rescored.timings.items()}
        degraded = joined(query.degraded, rescored.degraded)
        if request.read_as:  # below which cosine nothing matches is known of vectors as they come, not turned
            asked = query if matrix is None else self.prepare(query.text, profile.needs())
        unmatched = () if faults(query.degraded) else self._unmatched(asked, request.candidates)
        return SearchOutcome(hits, rescored, slimmed, degraded, clock.laps | stages, seen, unmatched)

    def _in_english(self, text: str, profile: Profile) -> tuple[str, tuple[Degradation, ...]]:
        """The request in English, where the profile wants that and it is not."""
        if not profile.first_stage.translate:
            return text, ()
        if self._translate is None:
            reason = "the request was not translated: this service has no language model"
            return text, (Degradation(TRANSLATE, reason),)
        read, cut = as_read(text)
        english, told = self._translate(read)
        return (text, told) if english == read else (english, (*cut, *told))

    def prepare(self, text: str, needs: frozenset[Requirement]) -> Query:
        """Calls `prepare` of this module with the encoder of this search."""
        return prepare(text, needs, self._encoder)

    def candidates(
        self,
        query: Query,
        needs: frozenset[Requirement],
        size: int,
        permitted: Filter,
        matrix: RequestMatrix | None = None,
        as_asked: str = "",
    ) -> tuple[Query, RescoreRequest]:
        """The candidates: at most `size` of each ranking that is needed.

        The query comes back as it was asked: turned by the matrix, and as the index understands it, see
        `Query.over`. Sample requests are compared with the request as it came, for they are requests, too:
        with `as_asked`, where the query is a translation.

        If the samples cannot be read, nobody votes, and the query says so in `degraded`.

        Raises:
            EmptyCatalog: nothing is in the index yet.
            EngineError: it cannot be searched.
        """
        asked = as_asked or query.text
        translated = (f"{as_asked[:_TOLD]} → {query.text[:_TOLD]}",) if as_asked else ()
        query, found, read_as = self._read(query, needs, size, permitted, matrix)
        if found.schema is None:
            raise EmptyCatalog(self._index.url)
        plain, query = query, query.turned(matrix).over(found.schema).over_damage(found.damaged)
        voted, lost = Voted(found), None
        if "intent" in needs:
            as_it_came = self.prepare(as_asked, frozenset({"intent"})) if as_asked else plain
            voted, lost = self._voted(found, as_it_came.over(found.schema).vector, permitted, asked)
        request = RescoreRequest(
            query.text,
            voted.candidates,
            query.vector,
            intent_trust=voted.trust,
            vector_model=query.model,
            encoder_reads=query.encoder_reads and query.vector is not None,
            placed_first=dict(islice(voted.confirmed.items(), MAX_PLACED)),
            read_as=(*translated, *read_as)[:MAX_READ_AS],
        )
        query = query if lost is None else replace(query, degraded=(*query.degraded, lost))
        return query, self._with_named(request, read_request(query.text), size, permitted)

    def _read(
        self,
        query: Query,
        needs: frozenset[Requirement],
        size: int,
        permitted: Filter,
        matrix: RequestMatrix | None,
    ) -> tuple[Query, Candidates, tuple[str, ...]]:
        """Searches for the query, and once more if what it finds shows how a word of it is meant.

        Returns:
            The query as it is read, what it finds, and how its words were read.
        """
        found = self._found(query.turned(matrix), needs, size, permitted)
        read_as = SecondLook(self._index, self._encoder, permitted).at(query.text, found)
        if not read_as.notes:
            return query, found, ()
        again = self.prepare(read_as.text, needs)
        query = replace(again, degraded=joined(query.degraded, again.degraded))
        return query, self._found(query.turned(matrix), needs, size, permitted), read_as.notes

    def _voted(
        self, found: Candidates, said: Vector | None, permitted: Filter, asked: str
    ) -> tuple[Voted, Degradation | None]:
        """The votes of sample requests, or why there are none."""
        if self._voters is None:
            return Voted(found), None
        try:
            voted = self._voters.add_votes(found, said, permitted, self._index, self._encoder, asked)
        except EngineError as error:
            return Voted(found), Degradation("intent", f"no sample request votes: {error}")
        return voted, None

    def _found(
        self, turned: Query, needs: frozenset[Requirement], size: int, permitted: Filter
    ) -> Candidates:
        """The candidates of a query whose vectors are turned already."""
        words = read_request(turned.text).searched if "lexical" in needs else ""
        return self._index.search(
            SearchRequest(words, turned.vector, size, permitted, turned.sentences, turned.model)
        )

    def _with_named(
        self, request: RescoreRequest, reading: Reading, size: int, permitted: Filter
    ) -> RescoreRequest:
        """The request with what it names among its candidates."""
        names = names_to_find(reading, request.candidates, size)
        if not names:
            return request
        by_name = find_named(self._index, names, permitted)
        known = {item.id for item in request.candidates}
        more = [item for item in by_name.candidates if item.id not in known]
        placed = dict(islice({**request.placed_first, **by_name.by_path}.items(), MAX_PLACED))
        return replace(request, candidates=[*request.candidates, *more], placed_first=placed)

    def rank(
        self, request: RescoreRequest, profile: Profile, permitted: Filter
    ) -> tuple[Rescored, RescoreRequest]:
        """Ranks the candidates by a profile, and fetches what it needs in further rounds.

        Raises:
            RescorerError: the request cannot be answered as asked.
        """
        fetcher = IndexFetcher(self._index, permitted)
        return in_rounds(fetcher, request, lambda larger: self._rescorer(larger, profile))

    def _ranked(
        self, request: RescoreRequest, profile: Profile, permitted: Filter, budget: int | None
    ) -> tuple[Rescored, RescoreRequest, frozenset[str]]:
        """Ranks, and packs into the budget if there is one; also returns the ids of slimmed definitions."""
        if budget is None:
            return *self.rank(request, profile, permitted), frozenset()
        if budget < 0:
            raise InvalidRequest(f"budget is {budget}: give 0 tokens or more")
        deep = replace(request, k=max(PACKED_FROM, request.k))
        rescored, seen = self.rank(deep, profile, permitted)
        sizes = self._measure(self._index.fetch([hit.id for hit in rescored.results], permitted))
        packed, slimmed = pack_results(rescored, sizes, budget, request.k)
        return packed, seen, slimmed

    def _unmatched(self, query: Query, candidates: Sequence[Candidate]) -> tuple[str, ...]:
        """Sentences with a verb of asking whose nearest API is far; none where vectors are lost."""
        if query.vector is None or not query.sentences or faults(query.degraded):
            return ()
        least = self._encoder.unmatched_below
        if least is None:
            return ()
        found = [item.vector for item in candidates if item.vector.shape == query.vector.shape]
        vectors = np.array(found)
        return tuple(
            each.text
            for each in query.sentences
            if each.vector is not None
            and wanted_effects(each.text)
            and found
            and float(np.max(vectors @ each.vector)) < least
        )

    def _hits(self, rescored: Rescored, permitted: Filter) -> tuple[SearchHit, ...]:
        """The hits with their documents, without those that a sync has removed meanwhile."""
        ids = [hit.id for hit in rescored.results]
        documents = {document.id: document for document in self._index.fetch(ids, permitted)}
        kept = [hit for hit in rescored.results if hit.id in documents]
        return tuple(
            SearchHit(hit.id, rank, hit.score, hit.probability, hit.reasons, document=documents[hit.id])
            for rank, hit in enumerate(kept, start=1)
        )


class IndexFetcher:
    """Reads documents for a pipeline from an index, with the permissions of the caller."""

    def __init__(self, index: SearchedIndex, permitted: Filter) -> None:
        self._index = index
        self._permitted = permitted

    def apis_of_tools(self, tools: Sequence[str]) -> list[Candidate]:
        """All visible APIs of these tools (keys), at most `MAX_SIBLINGS`."""
        return self._index.apis_of_tools(tools, self._permitted, MAX_SIBLINGS)

    def neighbours(self, vector: Vector, k: int) -> list[Candidate]:
        """The k visible documents nearest to the vector."""
        return self._index.neighbours(vector, k, self._permitted)


def _require_ranking(profile: Profile) -> None:
    """Raises `InvalidRequest` for a profile that only reorders what others propose, as a reranker may."""
    if profile.needs().isdisjoint(ALL_RANKINGS):
        what = "no stage that asks for a ranking, so no search can find anything"
        cure = 'begin it with the stage fuse, or with extends = "kitpick"'
        raise InvalidRequest(f"profile {profile.name!r} has {what}: {cure}")


class _Clock:
    """Milliseconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = (now - self._last) * 1e3
        self._last = now
