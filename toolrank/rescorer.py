"""Who ranks the candidates of a catalog: the models in this process, or a service somewhere else."""

from __future__ import annotations

from collections.abc import Callable

from msgspec.structs import replace

from toolrank.settings import Settings
from toolrank_models.errors import ModelError
from toolrank_rescorers.client import Refused, RescorerClient, Unreachable
from toolrank_rescorers.models import Models
from toolrank_rescorers.pipeline import rescore
from toolrank_rescorers.profiles import Profile
from toolrank_rescorers.request import Rescored, RescoreRequest
from toolrank_rescorers.state import Degradation

Rescorer = Callable[[RescoreRequest, Profile], Rescored]
"""Ranks the candidates of a request by the stages of a profile."""

_BUSY = frozenset({"overloaded", "unavailable", "model_failed", "deadline", "internal"})
"""Refusals that are no fault of the request."""


def local_rescorer(models: Models) -> Rescorer:
    """The models of this process."""
    return lambda request, profile: rescore(request, profile, models)


class RemoteRescorer:
    """A service, with answers equal to those of the same models in this process.

    When it does not answer, the stages run here without models: the first-stage order, and the answer says
    why.
    """

    def __init__(self, settings: Settings, vector_model: Callable[[], str]) -> None:
        self._client = RescorerClient(settings.rescorer, settings.rescorer_key.get_secret_value())
        self._vector_model = vector_model

    def __call__(self, request: RescoreRequest, profile: Profile) -> Rescored:
        """Ranks the candidates.

        Raises:
            Refused: the request, or its key, is not one the service takes.
        """
        try:
            return self._client.rescore(request, profile, self._model_of(request))
        except Unreachable as error:
            return _without(request, profile, error)
        except Refused as error:
            if error.code not in _BUSY:
                raise
            return _without(request, profile, error)

    def close(self) -> None:
        """Closes its connections."""
        self._client.close()

    def _model_of(self, request: RescoreRequest) -> str:
        try:
            return self._vector_model() if request.vector is not None else ""
        except ModelError:
            return ""


def _without(request: RescoreRequest, profile: Profile, error: Exception) -> Rescored:
    rescored = rescore(request, profile, Models())
    return replace(rescored, degraded=(Degradation("rescorer", str(error)), *rescored.degraded))
