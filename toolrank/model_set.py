"""The models of a catalog, each loaded when it is first needed and only once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Generic, TypeVar

from toolrank.settings import Settings
from toolrank_engines.contract import Sentence, Vector
from toolrank_engines.sentences import sentences_of
from toolrank_models.cross_encoder import CrossEncoder
from toolrank_models.encoder import Encoder
from toolrank_models.errors import ModelError, ProviderRefused, RuntimeClash
from toolrank_models.query_kind import QueryKindClassifier
from toolrank_models.runtime import load_cross_encoder, load_encoder, load_query_kind
from toolrank_models.settings import RuntimeSettings
from toolrank_rescorers.demorank.folder import open_demonstrations
from toolrank_rescorers.errors import RescorerError
from toolrank_rescorers.llm.endpoint import LlmSettings
from toolrank_rescorers.llm.model import LanguageModel
from toolrank_rescorers.llm.opening import open_model
from toolrank_rescorers.models import Demonstrations, Models
from toolrank_rescorers.scoring import ScoreCache
from toolrank_rescorers.state import Degradation

Model = TypeVar("Model")

_LOUD = (ProviderRefused, RuntimeClash)
"""An operator who asked for a GPU must not get slow answers instead of an error."""
_QUERY_VECTORS = 1_024


class Once(Generic[Model]):
    """Loads on first use, from whichever thread comes first; a failure is remembered too."""

    def __init__(self, load: Callable[[], Model]) -> None:
        self._load = load
        self._lock = threading.Lock()
        self._loaded: Model | None = None
        self._failure: ModelError | None = None

    def get(self) -> Model:
        """The model.

        Raises:
            ModelError: it cannot be loaded.
        """
        with self._lock:
            if self._failure is not None:
                raise self._failure
            if self._loaded is None:
                try:
                    self._loaded = self._load()
                except ModelError as error:
                    self._failure = error
                    raise
            return self._loaded


class ModelSet:
    """Encoder, cross-encoder and query classifier as the settings name them."""

    def __init__(self, settings: Settings) -> None:
        runtime = RuntimeSettings(provider=settings.provider, threads=settings.threads)
        self._encoder: Once[Encoder] = Once(lambda: load_encoder(settings.encoder, runtime))
        self._scorer: Once[CrossEncoder] = Once(lambda: load_cross_encoder(settings.cross_encoder, runtime))
        self._kind: Once[QueryKindClassifier] = Once(lambda: load_query_kind(settings.query_kind))
        self._llm_settings = llm_settings(settings)
        self._llm = lru_cache(maxsize=1)(lambda: open_model(self._llm_settings))
        self._folder = settings.demonstrations
        self._demonstrations = lru_cache(maxsize=1)(lambda: open_demonstrations(Path(self._folder), runtime))
        self._cache = ScoreCache()
        self._query_vector = lru_cache(maxsize=_QUERY_VECTORS)(self._encode_query)
        self._sentence_vectors = lru_cache(maxsize=_QUERY_VECTORS)(self._encode_sentences)

    @property
    def encoder(self) -> Encoder:
        """The encoder.

        Raises:
            ModelError: it cannot be loaded.
        """
        return self._encoder.get()

    def query_vector(self, request: str) -> Vector:
        """Unit vector of a request, float32 (d,); remembered for the last requests.

        Raises:
            ModelError: the encoder cannot be loaded, or fails.
        """
        vector: Vector = self._query_vector(request)
        return vector

    def sentences(self, request: str) -> tuple[Sentence, ...]:
        """Its sentences, where there are several, each with its vector; remembered as `query_vector` is.

        Raises:
            ModelError: as `query_vector`.
        """
        texts = sentences_of(request)
        vectors = self._sentence_vectors(texts) if texts else ()
        return tuple(Sentence(text, vector) for text, vector in zip(texts, vectors, strict=True))

    def for_needs(self, needs: frozenset[str]) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages ask for, and what is missing of them.

        Raises:
            ProviderRefused, RuntimeClash: a device was asked for that cannot be used.
        """
        missing: list[Degradation] = []
        scorer = _or_degraded("cross_encoder", self._scorer, missing) if "scorer" in needs else None
        kind = _or_degraded("query_kind", self._kind, missing) if "query_kind" in needs else None
        llm = self._language_model(missing) if "llm" in needs else None
        shown = self._shown(missing) if "demonstrations" in needs else None
        models = Models(scorer=scorer, query_kind=kind, cache=self._cache, llm=llm, demonstrations=shown)
        return models, tuple(missing)

    def forget(self) -> None:
        """Forgets query vectors and scores, so that the next request costs what the first one did."""
        self._cache = ScoreCache()
        self._query_vector.cache_clear()
        self._sentence_vectors.cache_clear()

    def identities(self) -> Mapping[str, str]:
        """Role → identity of the loaded model, or why it cannot be loaded."""
        roles: dict[str, Once[Encoder] | Once[CrossEncoder] | Once[QueryKindClassifier]] = {
            "encoder": self._encoder,
            "cross_encoder": self._scorer,
            "query_kind": self._kind,
        }
        return {role: _identity(model) for role, model in roles.items()}

    def _language_model(self, missing: list[Degradation]) -> LanguageModel | None:
        """None where no endpoint is configured: then nothing is ever connected to."""
        if not self._llm_settings.url:
            return None
        try:
            return self._llm()
        except RescorerError as error:
            missing.append(Degradation("llm", str(error)))
            return None

    def _shown(self, missing: list[Degradation]) -> Demonstrations | None:
        """None where no folder is configured."""
        if not self._folder:
            return None
        try:
            return self._demonstrations()
        except _LOUD:
            raise
        except (ModelError, RescorerError) as error:
            missing.append(Degradation("demonstrations", str(error)))
            return None

    def _encode_query(self, request: str) -> Vector:
        vector: Vector = self.encoder.encode([request])[0]
        return vector

    def _encode_sentences(self, texts: tuple[str, ...]) -> tuple[Vector, ...]:
        """Together, so that batches of them run side by side."""
        return tuple(self.encoder.encode(texts))


def llm_settings(settings: Settings) -> LlmSettings:
    """Where the language model is, and what it costs."""
    return LlmSettings(
        url=settings.llm_url,
        model=settings.llm_model,
        key=settings.llm_key.get_secret_value(),
        prompt_price=settings.llm_prompt_price,
        completion_price=settings.llm_completion_price,
    )


def _or_degraded(role: str, model: Once[Model], missing: list[Degradation]) -> Model | None:
    try:
        return model.get()
    except _LOUD:
        raise
    except ModelError as error:
        missing.append(Degradation(role, str(error)))
        return None


def _identity(model: Once[Encoder] | Once[CrossEncoder] | Once[QueryKindClassifier]) -> str:
    try:
        return model.get().identity
    except ModelError as error:
        return f"unavailable: {error}"
