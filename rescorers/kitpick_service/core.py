"""The service without HTTP: settings, models, and the requests in progress."""

from __future__ import annotations

import math
import threading
from copy import copy
from pathlib import Path

from kitpick_engines.lexical import Terms
from kitpick_engines.remote.indexes import is_of_schema
from kitpick_foundation.places import HiddenPlaces
from kitpick_models.batching import available_cpus
from kitpick_rescorers.intents.sample_votes import SampleVotes
from kitpick_rescorers.profiles import Profile, load_profile, shipped_profiles
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import CrossEncode
from kitpick_rescorers.stages.cross_encode import FETCHED
from kitpick_service.admission import Admission
from kitpick_service.connections import ConnectionCount
from kitpick_service.contents import Contents
from kitpick_service.errors import Invalid, NotFound
from kitpick_service.gate import Gate
from kitpick_service.keys import KeyRing
from kitpick_service.metrics import Metrics
from kitpick_service.models import ServiceModels
from kitpick_service.queue import ModelQueue
from kitpick_service.settings import ServiceSettings
from kitpick_service.traces import CollectorTracer
from kitpick_service.turns import Turns

_MOST_STAGES = 20
_MOST_COMPARED = 2_000
"""Candidates that the stages which compare each with each look at, all stages together."""
_MOST_SCORED = 10_000
"""Candidates that the cross-encoder reads, all stages together."""

_AT_ONCE_ON_GPU = 16
"""Searches that are served at a time: the batches of a card hold the pairs of several."""


class Service:
    """The shared objects of all endpoints. Safe to use from several threads; the gate is the event loop's."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Loads the models.

        Raises:
            ModelError, InvalidSetting, UnknownProfile, InvalidProfile: what the settings name is not usable.
        """
        self.settings = settings
        # Before the models, which take seconds: a name that is not there is told at once.
        self.keys = KeyRing(_file(settings.keys))
        self.default_profile = load_profile(settings.profile)
        self.metrics = Metrics()
        self.models = ServiceModels(settings, self.metrics)
        self.former = (
            ServiceModels(settings.of_former_models(), self.metrics, "former_")
            if settings.former_models
            else None
        )
        self.terms = Terms()
        self.votes = SampleVotes(_file(settings.intents), _file(settings.enriched))
        self.places = HiddenPlaces((settings.intents, settings.enriched))
        """What callers are not told of."""
        self.contents = Contents(settings.content_cache)
        self.connections = ConnectionCount(settings.max_connections)
        self.gate = Gate(settings.max_requests, settings.max_waiting_bytes)
        self.tracer = CollectorTracer(settings.traces) if settings.traces else None
        half = max(1, (settings.threads or available_cpus()) // 2)
        self.turns = Turns(half, self._models_busy)
        self.admission = Admission(
            half if settings.provider == "cpu" else _AT_ONCE_ON_GPU, self.models.costs()
        )
        self.proving = threading.Lock()
        self.proved = -math.inf
        """When every model last answered a probe, by `time.perf_counter`; guarded by `proving`."""
        self._reloading, self._waiting = threading.Lock(), threading.Lock()
        self.metrics.watch(self)

    def profile(self, wanted: str | Profile | None) -> Profile:
        """The profile a request asks for. A file is never read for a request.

        Raises:
            NotFound: no profile of this name.
            Invalid: stages that together cost more than one request may, or a file.
        """
        if isinstance(wanted, Profile):
            if wanted.first_stage.request_matrix:
                raise Invalid(
                    "profile: first_stage.request_matrix: only the service's own profile names a file"
                )
            _require_affordable(wanted)
            return wanted
        if wanted is None or wanted == self.default_profile.name:
            return self.default_profile
        if wanted not in shipped_profiles():
            known = sorted({*shipped_profiles(), self.default_profile.name})
            raise NotFound(f"no profile {wanted[:100]!r}; known are {', '.join(known)}")
        return load_profile(wanted)

    def over(self, index: str) -> Service:
        """The service with the models that an index on a search server was built with, if it has them."""
        former = self.former
        if former is None or is_of_schema(index, self.models.schema):
            return self
        if not is_of_schema(index, former.schema):
            return self
        other = copy(self)
        other.models, other.votes = former, self.votes.as_they_are()
        return other

    @property
    def has_samples(self) -> bool:
        """Whether sample requests can vote."""
        return bool(self.settings.intents or self.settings.enriched)

    @property
    def search_seconds(self) -> float:
        """What a search by the service's own profile takes, if no other is under way."""
        return self.admission.costs.of(self.default_profile.pairs)

    @property
    def queues(self) -> tuple[ModelQueue, ...]:
        """The queues of all models."""
        return (*self.models.queues, *(() if self.former is None else self.former.queues))

    @property
    def score_cache(self) -> ScoreCache:
        """The scores of all callers by the models in use."""
        return self.models.cache

    def _models_busy(self) -> bool:
        return any(queue.busy for queue in self.queues)

    def reload(self) -> None:
        """Loads the models again, and closes the old ones when no request can use them any more.

        Until then the next reload waits, and any further one adds nothing to it: signals that come one upon
        the other do not fill the memory with models.

        Raises:
            ModelError: a model is missing or damaged; the old ones go on serving.
        """
        if not self._waiting.acquire(blocking=False):
            return
        self._reloading.acquire()
        self._waiting.release()
        try:
            fresh = ServiceModels(self.settings, self.metrics)
        except Exception:
            self._reloading.release()
            self.metrics.reloaded("failed")
            raise
        old, self.models = self.models, fresh
        self.metrics.reloaded("done")
        timer = threading.Timer(self.settings.deadline_seconds, self._let_go, (old,))
        timer.daemon = True
        timer.start()

    def _let_go(self, old: ServiceModels) -> None:
        old.close()
        self._reloading.release()

    def close(self) -> None:
        """Stops the models' queues, and sends the last traces."""
        self.models.close()
        if self.former is not None:
            self.former.close()
        if self.tracer is not None:
            self.tracer.close()


def _file(name: str) -> Path | None:
    return Path(name) if name else None


def _require_affordable(profile: Profile) -> None:
    """Refuses profiles of callers that would cost too much; a deadline alone would stop them late."""
    if len(profile.stages) > _MOST_STAGES:
        raise Invalid(f"profile: {len(profile.stages)} stages: at most {_MOST_STAGES} in a request")
    compared = sum(
        getattr(stage, "candidates", 0) for stage in profile.stages if not isinstance(stage, CrossEncode)
    )
    if compared > _MOST_COMPARED:
        raise Invalid(
            f"profile: `candidates` of its stages add up to {compared:,}: at most {_MOST_COMPARED:,}"
        )
    encoders = [stage for stage in profile.stages if isinstance(stage, CrossEncode)]
    scored = sum(stage.candidates + FETCHED for stage in encoders)
    if len(encoders) > 1 and scored > _MOST_SCORED:
        raise Invalid(f"profile: its cross-encoders score {scored:,} candidates: at most {_MOST_SCORED:,}")
