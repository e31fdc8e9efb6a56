"""The front door: a catalog that takes sources in and finds tools for requests."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType

from toolrank.errors import EmptyCatalog
from toolrank.fetching import EngineFetcher
from toolrank.intents import CatalogIntents
from toolrank.model_set import ModelSet
from toolrank.packing import Packed, packed
from toolrank.rescorer import RemoteRescorer, Rescorer, local_rescorer
from toolrank.result import SearchHit, SearchResult
from toolrank.settings import Settings
from toolrank_engines.contract import (
    Engine,
    Filter,
    IndexSchema,
    IndexStats,
    SearchRequest,
    Sentence,
    Vector,
)
from toolrank_engines.document import ApiDocument
from toolrank_engines.intents.store import Intent
from toolrank_engines.opening import open_engine
from toolrank_engines.sentences import sentences_of
from toolrank_ingest.embedding_cache import EmbeddingCache
from toolrank_ingest.opening import open_source
from toolrank_ingest.progress import NullProgress, Progress
from toolrank_ingest.source import Source
from toolrank_ingest.sync import SyncOptions, SyncReport, sync
from toolrank_models.errors import ModelError, ProviderRefused, RuntimeClash
from toolrank_rescorers.profiles import Profile, load_profile
from toolrank_rescorers.request import RescoreRequest
from toolrank_rescorers.rounds import in_rounds
from toolrank_rescorers.state import Degradation

_NOBODY = Filter()
_NO_PROGRESS = NullProgress()


class Catalog:
    """Tools in an engine, and the models that rank them. Safe to use from several threads."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.settings = settings
        self.models = ModelSet(settings)
        self.intents = CatalogIntents(engine, settings, lambda: self.models.encoder)
        self._remote = (
            RemoteRescorer(settings, lambda: self.models.encoder.identity) if settings.rescorer else None
        )

    @classmethod
    def open(
        cls, url: str | None = None, *, settings: Settings | None = None, rescorer: str | None = None
    ) -> Catalog:
        """Opens a catalog, `sqlite:PATH` or a path ending in `.db`; by default the one in the settings.

        `rescorer` is the URL of a service that ranks in place of the models in this process.

        Raises:
            UnknownEngine, EngineUnavailable: there is no such engine, or it cannot be opened.
        """
        settings = settings or Settings()
        if rescorer is not None:
            settings = settings.model_copy(update={"rescorer": rescorer})
        return cls(open_engine(url or settings.catalog), settings)

    def ingest(
        self,
        source: Source | str,
        *,
        name: str | None = None,
        options: SyncOptions | None = None,
        progress: Progress = _NO_PROGRESS,
    ) -> SyncReport:
        """Brings the catalog's documents of one source in line with the source.

        Args:
            source: a source, or its specification: `openapi:FILE`, `mcp:URL`, `botocore:s3,ec2`, a path, …
            name: owner of the documents; by default derived from the specification.
            options: what to do about shrinking sources, dead letters and the like.
            progress: told of every phase.

        Raises:
            IngestError, EngineError, ModelError: nothing that was stored before is lost.
        """
        opened = open_source(source, name=name) if isinstance(source, str) else source
        cache = EmbeddingCache(self.settings.embedding_cache)
        try:
            return sync(opened, self.engine, self.models.encoder, cache, options or SyncOptions(), progress)
        finally:
            cache.close()

    def search(
        self,
        request: str,
        k: int = 5,
        *,
        filter: Filter = _NOBODY,  # noqa: A002
        profile: str | Path | Profile | None = None,
        budget: int | None = None,
    ) -> SearchResult:
        """The k best APIs for a request in words.

        Args:
            request: what somebody wants done.
            k: how many hits at most, at least 0.
            filter: who asks, and what they want to see; without principals only public APIs.
            profile: a shipped profile, a `.toml` file or a profile; by default the one in the settings.
            budget: tokens that the definitions of all hits may take together; some are slimmed for it.

        Raises:
            EmptyCatalog: nothing was ingested yet.
            EngineError, RescorerError: the request cannot be answered as asked, or not at all.
            ProviderRefused, RuntimeClash: the device asked for cannot be used.
        """
        chosen = _profile(self.settings.profile if profile is None else profile)
        clock = _Clock()
        vector, degraded = self._query_vector(request, chosen)
        sentences = self._sentences(request, chosen, vector)
        clock.lap("embed")
        size = chosen.first_stage.size_for(k)
        wanted = SearchRequest(_text_for(request, chosen), vector, size, filter, sentences)
        candidates, trust = self.engine.search(wanted), 1.0
        if "intent" in chosen.needs() and self._remote is None:
            candidates, trust = self.intents.added_to(candidates, vector, filter)
        clock.lap("first_stage")
        rescorer, missing = self._rescorer(chosen)
        asked = RescoreRequest(request, candidates, vector, k, intent_trust=trust)
        fetcher = EngineFetcher(self.engine, filter)
        if budget is None:
            answer = Packed(in_rounds(fetcher, asked, lambda larger: rescorer(larger, chosen)), frozenset())
        else:
            answer = packed(fetcher, asked, chosen, rescorer, budget)
        clock.lap("rescore")
        documents = self.engine.fetch([hit.id for hit in answer.rescored.results], filter)
        clock.lap("fetch")
        return _result(chosen, answer, documents, (*degraded, *missing), clock.laps)

    async def aingest(
        self,
        source: Source | str,
        *,
        name: str | None = None,
        options: SyncOptions | None = None,
        progress: Progress = _NO_PROGRESS,
    ) -> SyncReport:
        """`ingest` in a worker thread."""
        return await asyncio.to_thread(self.ingest, source, name=name, options=options, progress=progress)

    async def asearch(
        self,
        request: str,
        k: int = 5,
        *,
        filter: Filter = _NOBODY,  # noqa: A002
        profile: str | Path | Profile | None = None,
        budget: int | None = None,
    ) -> SearchResult:
        """`search` in a worker thread: models and engine release the interpreter while they work."""
        return await asyncio.to_thread(self.search, request, k, filter=filter, profile=profile, budget=budget)

    def add_intents(self, intents: Iterable[Intent]) -> int:
        """Takes sample requests in, which vote for their APIs in profiles that give them weight; how many.

        Raises:
            EngineUnavailable: they cannot be stored.
            ModelError: they cannot be embedded.
        """
        return self.intents.add(intents)

    def feedback(
        self,
        request: str,
        chosen: Sequence[str],
        *,
        client: str = "",
        filter: Filter = _NOBODY,  # noqa: A002
    ) -> int:
        """Learns from what somebody chose for a request; how many ids were remembered.

        Choices count once two clients agree, lose weight with age, and push out nobody else's.

        Args:
            request: what was wanted.
            chosen: ids of the APIs that served it; those the client may not see are left out.
            client: who chose, as one and the same name each time; nameless ones count as one client.
            filter: what the client may see.

        Raises:
            EngineUnavailable, ModelError: as `add_intents`.
        """
        return self.intents.choose(request, chosen, client, filter)

    def live(self) -> tuple[str, IndexSchema]:
        """Name of the index that searches read, and what it was built with.

        Raises:
            EmptyCatalog: nothing was ingested yet.
        """
        live = self.engine.live()
        if live is None:
            raise EmptyCatalog(self.engine.url)
        return live

    def stats(self) -> IndexStats | None:
        """What the catalog holds, None before the first ingest."""
        return self.engine.stats()

    def close(self) -> None:
        """Releases the engine and the connections to a rescorer."""
        self.engine.close()
        if self._remote is not None:
            self._remote.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _rescorer(self, profile: Profile) -> tuple[Rescorer, tuple[Degradation, ...]]:
        """Who ranks, and what is missing for it."""
        if self._remote is not None:
            return self._remote, ()
        models, missing = self.models.for_needs(profile.needs())
        return local_rescorer(models), missing

    def _query_vector(self, request: str, profile: Profile) -> tuple[Vector | None, tuple[Degradation, ...]]:
        """The vector, or why the search has to do without one."""
        _, schema = self.live()
        if not profile.needs_vector or not request.strip():
            return None, ()
        try:
            if self.models.encoder.identity != schema.model:
                other = _other_model(schema.model, self.models.encoder.identity)
                return None, (Degradation("embed", other),)
            return self.models.query_vector(request), ()
        except (ProviderRefused, RuntimeClash):
            raise
        except ModelError as error:
            return None, (Degradation("embed", str(error)),)

    def _sentences(self, request: str, profile: Profile, vector: Vector | None) -> tuple[Sentence, ...]:
        """What is asked beside the whole request; without vectors where that has none."""
        if "sentence" not in profile.needs():
            return ()
        if vector is None:
            return tuple(Sentence(text, None) for text in sentences_of(request))
        return self.models.sentences(request)


class _Clock:
    """Milliseconds between laps."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = time.perf_counter()

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = (now - self._last) * 1e3
        self._last = now


def _profile(chosen: str | Path | Profile) -> Profile:
    return chosen if isinstance(chosen, Profile) else load_profile(chosen)


def _text_for(request: str, profile: Profile) -> str:
    return request if "lexical" in profile.needs() else ""


def _other_model(stored: str, used: str) -> str:
    return (
        f"the index holds vectors of {stored}, the encoder in use is {used}: ingest any source to rebuild it"
    )


def _result(
    profile: Profile,
    answer: Packed,
    documents: Sequence[ApiDocument],
    degraded: Iterable[Degradation],
    laps: dict[str, float],
) -> SearchResult:
    rescored = answer.rescored
    by_id = {document.id: document for document in documents}
    # A document that a sync removed between ranking and fetching is left out.
    hits = [hit for hit in rescored.results if hit.id in by_id]
    return SearchResult(
        profile=profile.name,
        hits=tuple(
            SearchHit(rank, hit.score, hit.probability, hit.reasons, by_id[hit.id])
            for rank, hit in enumerate(hits, start=1)
        ),
        query_kind=rescored.query_kind,
        abstained=rescored.abstained,
        abstained_because=rescored.abstained_because,
        degraded=(*degraded, *rescored.degraded),
        timings=laps | {f"rescore.{stage}": spent for stage, spent in rescored.timings.items()},
        trace=rescored.trace,
        slimmed=answer.slimmed,
    )
