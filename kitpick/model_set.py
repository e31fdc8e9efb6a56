"""The models of a catalog, each loaded when it is first needed and only once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import TYPE_CHECKING

from msgspec.structs import replace

from kitpick.settings import Settings
from kitpick_engines.contract import Filter, Vector
from kitpick_engines.sentences import MAX_SENTENCES
from kitpick_foundation.errors import InvalidSetting
from kitpick_models.encoders import Encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.errors import RescorerError
from kitpick_rescorers.model_loader import ModelLoader, Once
from kitpick_rescorers.models import Models
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation

if TYPE_CHECKING:  # loaded where a profile asks a language model
    from kitpick_rescorers.llm.endpoint import LlmSettings
    from kitpick_rescorers.llm.model import LanguageModel

_QUERIES = 2_048
"""Requests whose vectors are remembered, with those of their sentences."""
_TOGETHER = MAX_SENTENCES + 1
"""Texts of one request."""


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
        self.chosen = settings.chosen_models()
        """Names of the models."""
        runtime = RuntimeSettings(provider=settings.provider, threads=settings.threads)
        self._loader = ModelLoader(self.chosen, runtime)
        self._settings = settings
        self._llm = lru_cache(maxsize=1)(self._open_llm)
        self._cache = ScoreCache()
        self.queries = RememberedQueries(self._loader.encoder)
        """Makes vectors of requests."""

    @property
    def encoder(self) -> Encoder:
        """The encoder.

        Raises:
            ModelError: it cannot be loaded.
        """
        return self._loader.encoder.get()

    def for_needs(self, needs: frozenset[Requirement]) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages need, and those that are missing.

        Raises:
            ProviderRefused, RuntimeClash: a device was asked for that cannot be used.
        """
        models, missing = self._loader.for_needs(needs)
        llm, lacking = self._language_model() if "llm" in needs else (None, ())
        cache = self._cache.of_owner(_ASKING.get())
        return replace(models, cache=cache, llm=llm), (*missing, *lacking)

    def forget(self) -> None:
        """Clears the caches of query vectors and scores, as for measuring."""
        self._cache = ScoreCache()
        self.queries.forget()

    def identities(self) -> Mapping[str, str]:
        """Role → identity of the loaded model, or why it cannot be loaded."""
        return self._loader.identities()

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

    def _language_model(self) -> tuple[LanguageModel | None, tuple[Degradation, ...]]:
        """The language model; None, without any connection, if none is configured."""
        try:
            return (self._llm() if self._settings.llm_url else None), ()
        except RescorerError as error:
            return None, (Degradation("llm", str(error)),)


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
