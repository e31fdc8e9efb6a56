"""The catalog: it takes sources in and finds tools for requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from msgspec.structs import replace

from kitpick.settings import Settings
from kitpick_engines.contract import Engine, Filter, IndexSchema, IndexStats, SearchRequest
from kitpick_engines.document import ApiDocument, Thing
from kitpick_engines.opening import open_engine
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_ingest.progress import NullProgress, Progress
from kitpick_rescorers.errors import EmptyCatalog, InvalidRequest

if TYPE_CHECKING:  # loaded when a catalog is opened
    from kitpick.conversation import Messages
    from kitpick.enrichment import Enricher
    from kitpick.feedback import Forgotten
    from kitpick.model_set import ModelSet
    from kitpick.result import Depth, NextStep, SearchResult
    from kitpick.trial import ProfileTrial
    from kitpick_ingest.opening import Given
    from kitpick_ingest.sync import SyncOptions, SyncReport
    from kitpick_rescorers.intents.store import Intent
    from kitpick_rescorers.profiles import Profile
    from kitpick_rescorers.request import Spoken
    from kitpick_rescorers.state import HeldIdentifier
    from kitpick_service.client import RemoteRescorer

_NOBODY = Filter()
_FETCHED = 500
_NO_PROGRESS = NullProgress()
_NOT_COPIED = (
    "a Catalog holds connections and models, and can be neither pickled nor copied: "
    "pass its URL, and use Catalog.open(URL) there"
)


class Catalog:
    """Tools in an engine, and the models that rank them. Safe to use from several threads."""

    def __init__(self, engine: Engine, settings: Settings, models: ModelSet | None = None) -> None:
        """`models` can be shared by several catalogs; by default they are those that the settings name."""
        with FORKS_WAIT:
            from kitpick.definition_tokens import measure_definitions
            from kitpick.feedback import Feedback
            from kitpick.intents import CatalogIntents, enriched_file, intents_file
            from kitpick.model_set import ModelSet
            from kitpick_rescorers.intents.answers import AnswerLog
            from kitpick_rescorers.search import LocalRescorer, Search

        self.engine = engine
        self.settings = settings
        self.models = models or ModelSet(settings)
        self.intents = CatalogIntents(
            engine,
            intents_file(engine.url, settings),
            self.models.queries,
            enriched_file(engine.url, settings),
        )
        self.learning = Feedback(AnswerLog(settings.answers, settings.feedback_days), self.intents)
        """Answers that were given, and what was said about them."""
        self._remote = remote_rescorer(settings)
        self._trial = self._open_trial(settings.trial) if settings.trial else None
        local = LocalRescorer(self.models)
        self.way = Search(
            engine,
            self.models.queries,
            self._remote or local,
            measure_definitions,
            self.intents.votes,
            local.in_english,
        )
        """The steps of a search, for callers that need some of them, or another index."""

    @classmethod
    def open(
        cls,
        url: str | PathLike[str] | None = None,
        *,
        settings: Settings | None = None,
        rescorer: str | None = None,
    ) -> Catalog:
        """Opens a catalog, `sqlite:PATH` or a path ending in `.db`; by default the one in the settings.

        `rescorer` is the URL of a service that ranks in place of the models in this process.

        Raises:
            UnknownEngine, EngineUnavailable: there is no such engine, or it cannot be opened.
        """
        settings = settings or Settings()
        if rescorer is not None:
            settings = replace(settings, rescorer=rescorer)
        return cls(open_engine(fspath(url) if url else settings.catalog), settings)

    def ingest(
        self,
        source: Given,
        *,
        name: str | None = None,
        options: SyncOptions | None = None,
        progress: Progress = _NO_PROGRESS,
    ) -> SyncReport:
        """Brings the catalog's documents of one source in line with the source.

        Args:
            source: a source, or its specification: `openapi:FILE`, `mcp:URL`, `botocore:s3,ec2`, a path, …;
                or a list of tools that the program holds: declarations as dicts, functions, classes of
                arguments, tools of agent frameworks.
            name: owner of the documents; by default derived from the specification, `tools` for a list.
            options: what to do about shrinking sources, dead letters and the like.
            progress: receives the beginning and the steps of every phase.

        Raises:
            IngestError, EngineError, ModelError: nothing that was stored before is lost.
        """
        with FORKS_WAIT:
            from kitpick.foreign_documents import with_english
            from kitpick.text_bounds import text_bounds
            from kitpick_ingest.embedder import EmbeddingCache
            from kitpick_ingest.opening import as_source
            from kitpick_ingest.sync import SyncOptions, sync

        opened = as_source(source, name)
        cache = EmbeddingCache(self.settings.embedding_cache)
        bounds = text_bounds(self.settings, self.models)
        options = replace(options or SyncOptions(), bounds=bounds, reword=with_english)
        try:
            return sync(opened, self.engine, self.models.encoder, cache, options, progress)
        finally:
            cache.close()

    @FORKS_WAIT
    def search(
        self,
        request: str | Messages,
        k: Depth = 5,
        *,
        filter: Filter = _NOBODY,  # noqa: A002
        profile: str | Path | Profile | None = None,
        budget: int | None = None,
        held: Sequence[HeldIdentifier] = (),
    ) -> SearchResult:
        """The k best APIs for a request in words.

        Args:
            request: what the user wants done: a text, or the messages of a conversation, of which the last
                request counts together with what it refers to, see `kitpick.conversation`.
            k: how many hits at most, at least 0; "auto" gives as many as the request is expected to need,
                see stage `enough`.
            filter: the caller and the wanted documents; without principals only public APIs.
            profile: a shipped profile, a `.toml` file or a profile; by default the one in the settings.
            budget: tokens that the definitions of all hits may take together; some are slimmed for it.
            held: identifiers that the caller already has: stage `complete` draws in no API to give them. Of
                more than `MAX_HELD`, the last ones count. Those in messages are found without this, see
                `kitpick.held_identifiers`.

        Raises:
            EmptyCatalog: nothing was ingested yet.
            NothingAsked: no message of a user has a text.
            EngineError, RescorerError: the request cannot be answered as asked, or not at all.
            ProviderRefused, RuntimeClash: the device asked for cannot be used.
        """
        text, spoken = _as_spoken(request, held)
        if not isinstance(filter, Filter):
            raise TypeError(f"filter: a kitpick.Filter is wanted, not {type(filter).__name__}")
        _require_numbers(k, budget)

        def by(name: str | Path | Profile) -> SearchResult:
            return self._found(text, k, filter, name, budget, spoken)

        trial = self._trial if profile is None and budget is None else None
        if trial is None:
            found = by(self.settings.profile if profile is None else profile)
            return self.learning.named(text, filter, found)
        found, drafted = trial.answer(by, self.settings.profile)
        named = self.learning.named(text, filter, found)
        return trial.remembered(named, filter.tenant, drafted)

    def _found(
        self,
        text: str,
        k: Depth,
        permitted: Filter,
        profile: str | Path | Profile,
        budget: int | None,
        spoken: Spoken,
    ) -> SearchResult:
        """What one profile finds."""
        from kitpick.model_set import asked_by
        from kitpick.result import SearchResult
        from kitpick_rescorers.stages import Enough

        chosen = _profile(profile)
        if k == "auto":
            enough = Enough()
            chosen, k = chosen.then(enough), enough.most
        with asked_by(permitted):
            outcome = self.way.run(text, chosen, k, permitted, budget, spoken)
        return replace(SearchResult.of(chosen.name, outcome), held=spoken.held)

    def _open_trial(self, path: Path) -> ProfileTrial:
        from kitpick.trial import ProfileTrial

        return ProfileTrial(path)

    async def aingest(
        self,
        source: Given,
        *,
        name: str | None = None,
        options: SyncOptions | None = None,
        progress: Progress = _NO_PROGRESS,
    ) -> SyncReport:
        """`ingest` in a worker thread."""
        import asyncio

        return await asyncio.to_thread(self.ingest, source, name=name, options=options, progress=progress)

    async def asearch(
        self,
        request: str | Messages,
        k: Depth = 5,
        *,
        filter: Filter = _NOBODY,  # noqa: A002
        profile: str | Path | Profile | None = None,
        budget: int | None = None,
        held: Sequence[HeldIdentifier] = (),
    ) -> SearchResult:
        """`search` in a worker thread: models and engine release the interpreter while they work."""
        import asyncio

        return await asyncio.to_thread(
            self.search, request, k, filter=filter, profile=profile, budget=budget, held=held
        )

    def documents(self, filter: Filter = _NOBODY, most: int | None = None) -> Iterator[ApiDocument]:  # noqa: A002
        """Every document that the caller may see, by id.

        Args:
            filter: the caller, and the wanted documents.
            most: how many ids are read; None for all.

        Raises:
            EmptyCatalog: nothing was ingested yet.
        """
        index, _ = self.live()
        ids = [key for key, _ in islice(self.engine.hashes(index), most)]
        for start in range(0, len(ids), _FETCHED):
            yield from self.engine.fetch(ids[start : start + _FETCHED], filter)

    @FORKS_WAIT
    def after(
        self,
        api: str,
        k: int = 10,
        *,
        filter: Filter = _NOBODY,  # noqa: A002
        held: Sequence[HeldIdentifier] = (),
    ) -> tuple[NextStep, ...]:
        """The APIs that can be called with what the answer of an API holds, the surest first.

        These are APIs of its tool, and of other tools that mention what it gives. Each says which inputs
        neither that answer nor the conversation fills; if something is held, those that lack nothing come
        first.

        Args:
            api: id of the API that was called.
            k: how many at most, at least 0.
            filter: the caller, who is shown no hidden API, and no step after a hidden one.
            held: identifiers that the conversation holds, see `kitpick.held_identifiers`.

        Raises:
            EngineError: the catalog cannot be searched.
        """
        from kitpick.result import NextStep, lacking
        from kitpick_rescorers.search import MAX_SIBLINGS
        from kitpick_rescorers.stages.complete import next_steps

        for called in self.engine.fetch([api], filter):
            words = " ".join(thing.resource for text in called.gives if (thing := Thing.read(text)))
            near = self.engine.search(SearchRequest(words, None, MAX_SIBLINGS, filter))
            known = {each.id: each for each in near}
            known |= {e.id: e for e in self.engine.apis_of_tools([called.tool_key], filter, MAX_SIBLINGS)}
            steps = [(flow, lacking(called, flow.taker, held)) for flow in next_steps(called, known.values())]
            if held:
                steps.sort(key=lambda step: bool(step[1]))
            best = {flow.taker.id: (flow.wanted, flow.confidence, lacks) for flow, lacks in steps[:k]}
            return tuple(NextStep(each, *best[each.id]) for each in self.engine.fetch(list(best), filter))
        return ()

    @FORKS_WAIT
    def add_intents(self, intents: Iterable[Intent]) -> int:
        """Adds sample requests, which vote for their APIs in profiles that weigh them; returns how many.

        Raises:
            UnknownIds: one names an API that the catalog does not hold; none was added.
            EngineUnavailable: they cannot be stored.
            ModelError: they cannot be embedded.
        """
        from kitpick.known_ids import require_known

        samples = list(intents)
        require_known(self.engine, (each.api for each in samples))
        return self.intents.add(samples)

    @FORKS_WAIT
    def feedback(
        self,
        request: str,
        chosen: Sequence[str] = (),
        *,
        failed: Sequence[str] = (),
        not_needed: Sequence[str] = (),
        client: str = "",
        filter: Filter = _NOBODY,  # noqa: A002
    ) -> int:
        """Learns how found tools did; returns how many ids were remembered.

        Choices count once two clients agree, lose weight with age, displace no choices of others, and move
        only what their own tenant finds. Failures and tools that were not needed take back what choices gave.

        Args:
            request: the id of an answer (`SearchResult.id`; several joined by `+`), or what was wanted, in
                words.
            chosen: ids of the APIs that did the job, or one id. An id that the answer did not show
                is refused; so is, for a request in words, an API that the client cannot see. Then nothing is
                remembered.
            failed: ids of APIs that were called and did not do the job.
            not_needed: ids of APIs that had no part in it.
            client: name of the client, the same each time; reports without a name count as one client.
            filter: what the client may see.

        Raises:
            UnknownResult: there is no such answer of this tenant.
            NotShown, UnknownIds: one of the ids is wrong; the message names the nearest.
            EngineUnavailable, ModelError: as `add_intents`.
        """
        from kitpick.feedback import Outcome
        from kitpick_rescorers.intents.answers import answer_ids

        chosen, failed, not_needed = map(_listed, (chosen, failed, not_needed))
        stored = self.learning.take(request, Outcome(chosen, failed, not_needed), client, filter)
        if self._trial is not None and (answers := answer_ids(request)):
            self._trial.choose(answers, filter.tenant, chosen, client)
        return stored

    @FORKS_WAIT
    def confirmed(self, request: str, *, filter: Filter = _NOBODY) -> dict[str, str]:  # noqa: A002
        """The APIs that samples and choices confirm for a request: their ids, in order, and why.

        They come first in profiles that give sample requests weight, whatever the models say.

        Args:
            request: in words, or the id of an answer.
            filter: what the caller may see.

        Raises:
            EngineUnavailable, ModelError: the samples cannot be read, or the request not embedded.
        """
        return self.learning.confirmed(request, filter)

    @FORKS_WAIT
    def forget(self, tenant: str | None = None, *, older_than_days: float | None = None) -> Forgotten:
        """Removes answers and everything that clients said; samples of the operator stay.

        Args:
            tenant: only those of this tenant (empty: of clients without one); None for all.
            older_than_days: only what is older; None for any age.

        Raises:
            InvalidRequest: no number of days.
            EngineUnavailable: a file cannot be written.
        """
        gone = self.learning.forget(tenant, older_than_days)
        if self._trial is not None:
            self._trial.forget(tenant, older_than_days)
        return gone

    def enricher(self) -> Enricher:
        """Has a language model write about the APIs of this catalog.

        Raises:
            NoPlaceForEnrichments: there is no file for what is written.
        """
        from kitpick.enrichment import Enricher, NoPlaceForEnrichments

        if self.intents.written is None:
            raise NoPlaceForEnrichments
        return Enricher(self.engine, self.models.queries, self.intents.written)

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

    @FORKS_WAIT
    def close(self) -> None:
        """Releases the engine and the connections to a rescorer."""
        self.engine.close()
        self.learning.answers.close()
        if self._remote is not None:
            self._remote.close()

    def __enter__(self) -> Catalog:
        return self

    def __getstate__(self) -> NoReturn:
        """Another process opens a catalog of its own."""
        raise TypeError(_NOT_COPIED)

    def __exit__(self, *_: object) -> None:
        self.close()


def remote_rescorer(settings: Settings) -> RemoteRescorer | None:
    """The service that ranks in place of the models in this process, where the settings name one.

    Raises:
        MissingExtra: the package to reach it is not installed.
    """
    if not settings.rescorer:
        return None
    from kitpick_service.client import RemoteRescorer, RescorerClient

    return RemoteRescorer(RescorerClient(settings.rescorer, settings.rescorer_key.reveal()))


def _as_spoken(request: str | Messages, held: Sequence[HeldIdentifier]) -> tuple[str, Spoken]:
    """What is searched with, and what a conversation brings beside it."""
    from kitpick_rescorers.request import Spoken
    from kitpick_rescorers.state import MAX_HELD

    if isinstance(request, str):
        return request, Spoken(tuple(held)[-MAX_HELD:], ())
    _require_messages(request)
    from kitpick.conversation import done_before, request_of
    from kitpick.held_identifiers import held_identifiers

    known = (*held_identifiers(request), *held)[-MAX_HELD:]
    return request_of(request), Spoken(known, done_before(request))


def _require_messages(request: object) -> None:
    if not isinstance(request, Sequence) or isinstance(request, bytes):
        said = "give a text, or the messages of a conversation"
        raise InvalidRequest(f"the request is of type {type(request).__name__}: {said}")


def _require_numbers(k: object, budget: object) -> None:
    """Raises `InvalidRequest` for a number of hits or tokens that is none."""
    if not isinstance(k, int) and k != "auto":
        raise InvalidRequest(f'k is {k!r}: give a whole number, or "auto"')
    if not isinstance(budget, int | None):
        raise InvalidRequest(f"budget is {budget!r}: give a whole number of tokens, or None for no budget")


def _listed(ids: Sequence[str]) -> Sequence[str]:
    """Ids, also where one alone is given."""
    return (ids,) if isinstance(ids, str) else ids


def _profile(chosen: str | Path | Profile) -> Profile:
    from kitpick_rescorers.profiles import Profile, load_profile

    return chosen if isinstance(chosen, Profile) else load_profile(chosen)
