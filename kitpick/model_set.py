"""The models of a catalog, each loaded when it is first needed and only once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING, Generic, TypeVar

from kitpick.settings import Settings
from kitpick_engines.contract import Filter, Vector
from kitpick_engines.sentences import MAX_SENTENCES
from kitpick_foundation.errors import InvalidSetting, MissingExtra
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock
from kitpick_models.encoders import CrossEncoder, Encoder
from kitpick_models.errors import ModelError, ProviderRefused, RuntimeClash
from kitpick_models.heads import ListRanker, QueryKindClassifier, misfit
from kitpick_models.locate import ChosenModels
from kitpick_models.runtime import load_cross_encoder, load_encoder, load_list_ranker, load_query_kind
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.errors import RescorerError
from kitpick_rescorers.models import Models
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation

if TYPE_CHECKING:  # loaded where a profile asks a language model
    from kitpick_rescorers.llm.endpoint import LlmSettings
    from kitpick_rescorers.llm.model import LanguageModel

Model = TypeVar("Model")

_LOUD = (ProviderRefused, RuntimeClash)
"""An operator who asked for a GPU must not get slow answers instead of an error."""
_UNAVAILABLE = "unavailable"
_QUERIES = 2_048
"""Requests whose vectors are remembered, with those of their sentences."""
_TOGETHER = MAX_SENTENCES + 1
"""Texts of one request."""


class Once(Generic[Model]):
    """A value that is loaded on first use, by one thread.

    A failure is kept once a second attempt failed too: the first may be what a signal's handler raised amid
    the loading, such as the time limit of a task, and then says nothing about the model.
    """

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load
        self._lock = fork_lock()
        self._loaded: Model | None = None
        self._failures = 0
        self._failure: ModelError | MissingExtra | None = None

    def get(self) -> Model:
        """The model.

        Raises:
            ModelError: it cannot be loaded.
        """
        return self._load_once() if self._loaded is None else self._loaded

    def _load_once(self) -> Model:
        with FORKS_WAIT, self._lock:
            if self._failure is not None:
                raise self._failure
            if self._loaded is None:
                try:
                    self._loaded = self._load()
                except (ModelError, MissingExtra) as error:
                    self._failures += 1
                    self._failure = error if self._failures > 1 else None
                    raise
            return self._loaded


_AnyModel = Once[Encoder] | Once[CrossEncoder] | Once[QueryKindClassifier] | Once[ListRanker]


_ASKING: ContextVar[tuple[str, ...]] = ContextVar("kitpick_asking", default=())
"""The caller, so that no caller can learn from answers what another one asked before."""


@contextmanager
def asked_by(permitted: Filter) -> Iterator[None]:
    """Runs its block for a caller with these permissions: what is remembered of requests is only theirs.

    The speed of an answer, and its trace, would tell others that a request was asked before.
    """
    nobody = not permitted.tenant and not permitted.principals
    before = _ASKING.set(() if nobody else (permitted.tenant, *sorted(permitted.principals)))
    try:
        yield
    finally:
        _ASKING.reset(before)


class RememberedQueries:
    """An encoder of requests with a cache of the last vectors; raises `ModelError` or `MissingExtra`."""

    def __init__(self, encoder: Once[Encoder]) -> None:
        self._encoder = encoder
        self._remembered = lru_cache(maxsize=_QUERIES)(self._encode)

    @property
    def identity(self) -> str:
        """Name and digest of the encoder."""
        return self._encoder.get().identity

    def vectors(self, texts: tuple[str, ...]) -> Sequence[Vector]:
        """Unit vectors, float32 (d,), one a text; those of many texts are not cached."""
        return self._remembered(texts, _ASKING.get()) if len(texts) <= _TOGETHER else self._encode(texts)

    @property
    def unmatched_below(self) -> float | None:
        """What the encoder's manifest says."""
        return self._encoder.get().unmatched_below

    def knows(self, word: str) -> bool:
        """As `Encoder.knows`."""
        return self._encoder.get().knows(word)

    def reads_language(self, language: str) -> bool:
        """As `Encoder.reads_language`."""
        return self._encoder.get().reads_language(language)

    def reads_at_most(self, text: str) -> int:
        """As `Encoder.reads_at_most`."""
        return self._encoder.get().reads_at_most(text)

    def forget(self) -> None:
        """Clears the cache."""
        self._remembered.cache_clear()

    def _encode(self, texts: tuple[str, ...], asking: str = "") -> tuple[Vector, ...]:
        """Encodes texts together, so that batches run side by side. Who asks parts what is remembered."""
        return tuple(self._encoder.get().encode_requests(texts))


class ModelSet:
    """The models of the settings: encoder, cross-encoder, query classifier and others."""

    def __init__(self, settings: Settings) -> None:
        """Chooses the models; each is loaded when it is first needed.

        Raises:
            UnknownModelSet, UnknownModel: the settings name something that is not there.
            CorruptModel: the `set.toml` cannot be read.
        """
        runtime = RuntimeSettings(provider=settings.provider, threads=settings.threads)
        self.chosen = chosen = settings.chosen_models()
        """Names of the models."""
        self._encoder: Once[Encoder] = Once(lambda: _encoder_of(chosen, runtime))
        self._scorer: Once[CrossEncoder] = Once(lambda: load_cross_encoder(chosen.cross_encoder, runtime))
        kind, ranker = chosen.query_kind, chosen.list_ranker
        self._kind: Once[QueryKindClassifier] | None = Once(lambda: load_query_kind(kind)) if kind else None
        self._ranker: Once[ListRanker] | None = (
            Once(lambda: load_list_ranker(ranker, runtime)) if ranker else None
        )
        self._settings = settings
        self._runtime = runtime
        self._llm = lru_cache(maxsize=1)(self._open_llm)
        self._cache = ScoreCache()
        self.queries = RememberedQueries(self._encoder)
        """Makes vectors of requests."""

    @property
    def encoder(self) -> Encoder:
        """The encoder.

        Raises:
            ModelError: it cannot be loaded.
        """
        return self._encoder.get()

    def for_needs(self, needs: frozenset[Requirement]) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages need, and those that are missing.

        Raises:
            ProviderRefused, RuntimeClash: a device was asked for that cannot be used.
        """
        missing: list[Degradation] = []
        scorer = _or_degraded("cross_encoder", self._scorer, missing) if "scorer" in needs else None
        kind = _or_degraded("query_kind", self._kind, missing) if "query_kind" in needs else None
        ranker = self._fitting_ranker(scorer, missing) if "ranker" in needs else None
        llm = self._language_model(missing) if "llm" in needs else None
        cache = self._cache.of_owner(_ASKING.get())
        return Models(scorer=scorer, query_kind=kind, cache=cache, llm=llm, ranker=ranker), tuple(missing)

    def _fitting_ranker(self, scorer: CrossEncoder | None, missing: list[Degradation]) -> ListRanker | None:
        """The list ranker; None, which is a degradation, if it is left out or learned with other models."""
        known = len(missing)
        ranker = _or_degraded("list_ranker", self._ranker, missing)
        encoder = _identity(self._encoder)
        if len(missing) > known or encoder.startswith(_UNAVAILABLE):
            return None  # the reason is known: a model that cannot be loaded
        unfit = misfit(ranker, encoder, "" if scorer is None else scorer.identity)
        if unfit:
            missing.append(Degradation("list_ranker", unfit))
        return None if unfit else ranker

    def forget(self) -> None:
        """Clears the caches of query vectors and scores, as for measuring."""
        self._cache = ScoreCache()
        self.queries.forget()

    def identities(self) -> Mapping[str, str]:
        """Role → identity of the loaded model, or why it cannot be loaded."""
        roles: dict[str, _AnyModel | None] = {
            "encoder": self._encoder,
            "cross_encoder": self._scorer,
            "query_kind": self._kind,
            "list_ranker": self._ranker,
        }
        return {role: _identity(model) for role, model in roles.items() if model is not None}

    def language_model(self) -> LanguageModel:
        """The language model that the settings name.

        Raises:
            InvalidSetting: none is named.
            LlmUnavailable: it cannot be used.
            MissingExtra: a package that it needs is not installed.
        """
        if not self._settings.llm_url:
            raise InvalidSetting("no language model: set KITPICK_LLM_URL to an endpoint")
        return self._open_llm()

    def _open_llm(self) -> LanguageModel:
        from kitpick_rescorers.llm.endpoint import ChatEndpoint

        return ChatEndpoint(llm_settings(self._settings))

    def _language_model(self, missing: list[Degradation]) -> LanguageModel | None:
        """The language model; None, without any connection, if none is configured."""
        if not self._settings.llm_url:
            return None
        try:
            return self._llm()
        except RescorerError as error:
            missing.append(Degradation("llm", str(error)))
            return None


def llm_settings(settings: Settings) -> LlmSettings:
    """Settings of the language model."""
    from kitpick_rescorers.llm.endpoint import LlmSettings

    return LlmSettings(
        url=settings.llm_url,
        model=settings.llm_model,
        key=settings.llm_key.reveal(),
        prompt_price=settings.llm_prompt_price,
        completion_price=settings.llm_completion_price,
    )


def _encoder_of(chosen: ChosenModels, runtime: RuntimeSettings) -> Encoder:
    encoder = load_encoder(chosen.encoder, runtime)
    encoder.model_set = "" if "encoder" in chosen.replaced else chosen.set_name
    return encoder


def _or_degraded(role: str, model: Once[Model] | None, missing: list[Degradation]) -> Model | None:
    try:
        return model.get() if model is not None else None
    except _LOUD:
        raise
    except (ModelError, MissingExtra) as error:
        missing.append(Degradation(role, str(error)))
        return None


def _identity(model: _AnyModel) -> str:
    try:
        return model.get().identity
    except (ModelError, MissingExtra) as error:
        return f"{_UNAVAILABLE}: {error}"
