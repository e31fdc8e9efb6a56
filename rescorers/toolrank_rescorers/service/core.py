"""The service without its HTTP: settings, models, and what is under way."""

from __future__ import annotations

import math
import threading
from pathlib import Path

from toolrank_rescorers.profiles import Profile, load_profile, shipped_profiles
from toolrank_rescorers.service.errors import NotFound
from toolrank_rescorers.service.gate import Gate
from toolrank_rescorers.service.keys import KeyRing
from toolrank_rescorers.service.metrics import Metrics
from toolrank_rescorers.service.models import ServiceModels
from toolrank_rescorers.service.settings import ServiceSettings
from toolrank_rescorers.service.traces import tracer_to


class Service:
    """What endpoints share. Safe to use from several threads, but for the gate: that is the event loop's."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Loads everything.

        Raises:
            ModelError, InvalidSetting, UnknownProfile, InvalidProfile: what the settings name is not usable.
        """
        self.settings = settings
        self.metrics = Metrics()
        self.models = ServiceModels(settings, self.metrics)
        self.gate = Gate(settings.max_requests, settings.max_waiting_bytes)
        self.keys = KeyRing(Path(settings.keys) if settings.keys else None)
        self.default_profile = load_profile(settings.profile)
        self.tracer = tracer_to(settings.traces)
        self.proving = threading.Lock()
        self.proved = -math.inf
        """When every model last answered a probe, by `time.perf_counter`; guarded by `proving`."""
        self._reloading, self._waiting = threading.Lock(), threading.Lock()
        self.metrics.watch(self)

    def profile(self, wanted: str | Profile | None) -> Profile:
        """The profile a request asks for. A file is never read for a request.

        Raises:
            NotFound: no profile of this name.
        """
        if isinstance(wanted, Profile):
            return wanted
        if wanted is None or wanted == self.default_profile.name:
            return self.default_profile
        if wanted not in shipped_profiles():
            known = sorted({*shipped_profiles(), self.default_profile.name})
            raise NotFound(f"no profile {wanted[:100]!r}; known are {', '.join(known)}")
        return load_profile(wanted)

    def reload(self) -> None:
        """Loads the models anew, and lets the old ones go when nobody can be using them any more.

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
        self.tracer.close()
