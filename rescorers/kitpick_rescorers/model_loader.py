"""Loads the models that are chosen, checks that they fit, and says which are missing and why."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from kitpick_foundation.errors import MissingExtra
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock
from kitpick_models.encoders import CrossEncoder, Encoder
from kitpick_models.errors import ModelError, ProviderRefused, RuntimeClash
from kitpick_models.heads import ListRanker, QueryKindClassifier
from kitpick_models.locate import ChosenModels
from kitpick_models.runtime import load_cross_encoder, load_encoder, load_list_ranker, load_query_kind
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.models import Models
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation

Model = TypeVar("Model")

_LOUD = (ProviderRefused, RuntimeClash)
"""An operator who asked for a GPU must not get slow answers instead of an error."""
_UNAVAILABLE = "unavailable"
_LEFT_OUT = "left out by the settings: the order and the certainty of hits come from the stages before it"


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
            ModelError, MissingExtra: it cannot be loaded.
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


class ModelLoader:
    """The chosen models by their roles, each loaded when it is first needed and only once.

    The last two are None where they are left out.
    """

    def __init__(self, chosen: ChosenModels, runtime: RuntimeSettings) -> None:
        kind, ranker = chosen.query_kind, chosen.list_ranker
        self._chosen = chosen
        self.encoder = Once(lambda: _encoder_of(chosen, runtime))
        self.cross_encoder = Once(lambda: load_cross_encoder(chosen.cross_encoder, runtime))
        self.query_kind = Once(lambda: load_query_kind(kind) if kind else None)
        self.list_ranker = Once(lambda: load_list_ranker(ranker, runtime) if ranker else None)

    def for_needs(
        self, needs: frozenset[Requirement], vector_model: str = ""
    ) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages need, and those that are missing.

        `vector_model` is the identity of the model that made the request's vector; empty for this encoder.

        Raises:
            ProviderRefused, RuntimeClash: a device was asked for that cannot be used.
        """
        missing: list[Degradation] = []
        scorer = _or_degraded("cross_encoder", self.cross_encoder, missing) if "scorer" in needs else None
        kind = self._fitting_kind(vector_model, missing) if "query_kind" in needs else None
        ranker = self._fitting_ranker(scorer, missing) if "ranker" in needs else None
        return Models(scorer=scorer, query_kind=kind, ranker=ranker), tuple(missing)

    def _fitting_kind(self, vector_model: str, missing: list[Degradation]) -> QueryKindClassifier | None:
        """The query classifier; None, which is a degradation, if it reads vectors of another model."""
        kind = _or_degraded("query_kind", self.query_kind, missing)
        if kind is None or not (vector_model and kind.encoder) or vector_model == kind.encoder:
            return kind
        reason = f"reads vectors of {kind.encoder}, the request's are of {vector_model}"
        missing.append(Degradation("query_kind", reason))
        return None

    def _fitting_ranker(self, scorer: CrossEncoder | None, missing: list[Degradation]) -> ListRanker | None:
        """The list ranker; None, which is a degradation, if it is left out or learned with other models."""
        known = len(missing)
        ranker = _or_degraded("list_ranker", self.list_ranker, missing)
        encoder = _identity(self.encoder)
        if len(missing) > known or encoder.startswith(_UNAVAILABLE):
            return None  # the reason is known: a model that cannot be loaded
        unfit = ranker.misfit(encoder, scorer.identity if scorer else "") if ranker else _LEFT_OUT
        if unfit:
            missing.append(Degradation("list_ranker", unfit))
        return None if unfit else ranker

    def identities(self) -> Mapping[str, str]:
        """Role → identity of the loaded model, or why it cannot be loaded."""
        return {role: _identity(getattr(self, role)) for role in self._chosen.names()}


def _encoder_of(chosen: ChosenModels, runtime: RuntimeSettings) -> Encoder:
    encoder = load_encoder(chosen.encoder, runtime)
    encoder.model_set = "" if "encoder" in chosen.replaced else chosen.set_name
    return encoder


def _or_degraded(role: str, model: Once[Model], missing: list[Degradation]) -> Model | None:
    try:
        return model.get()
    except _LOUD:
        raise
    except (ModelError, MissingExtra) as error:
        missing.append(Degradation(role, str(error)))
        return None


def _identity(model: Once[Any]) -> str:
    try:
        return str(model.get().identity)
    except (ModelError, MissingExtra) as error:
        return f"{_UNAVAILABLE}: {error}"
