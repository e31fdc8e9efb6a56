"""Sample requests of a catalog: adding them, and learning from choices. `SampleVotes` adds their votes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kitpick.settings import Settings
from kitpick_engines.contract import Engine, Filter
from kitpick_engines.intents.store import Intent
from kitpick_rescorers.sample_votes import SampleVotes
from kitpick_rescorers.search import QueryEncoder

_ANONYMOUS = "anonymous"
_BATCH = 256


class CatalogIntents:
    """The samples of one catalog."""

    def __init__(
        self, engine: Engine, path: Path | None, encoder: QueryEncoder, enriched: Path | None = None
    ) -> None:
        """`path` is the file of the samples, `enriched` that of what was written; None without one."""
        self._engine = engine
        self._encoder = encoder
        self.votes = SampleVotes(path, enriched)
        self._store = self.votes.samples
        self.written = self.votes.written

    def add(self, intents: Iterable[Intent]) -> int:
        """Adds samples and returns their number. Samples of the same request and API are one.

        Raises:
            EngineUnavailable: they cannot be stored.
            ModelError: they cannot be embedded.
        """
        return self._put(list(intents), "")

    def choose(self, request: str, chosen: Sequence[str], client: str, permitted: Filter) -> int:
        """Stores the choices of a client. Returns the number of ids that it may see and that were stored.

        Raises:
            EngineUnavailable, ModelError: as `add`.
        """
        if self._store is None or not request.strip():
            return 0
        visible = self._engine.fetch(list(dict.fromkeys(chosen)), permitted)
        return self._put([Intent(request, document.id) for document in visible], client or _ANONYMOUS)

    def _put(self, intents: Sequence[Intent], client: str) -> int:
        if self._store is None:
            return 0
        for start in range(0, len(intents), _BATCH):
            batch = intents[start : start + _BATCH]
            vectors = self._encoder.vectors(tuple(intent.request for intent in batch))
            self._store.put(batch, list(vectors), self._encoder.identity, client)
        return len(intents)


def intents_file(url: str, settings: Settings) -> Path | None:
    """The file of a catalog's samples: that of the settings, else one beside a SQLite catalog."""
    return settings.intents or _beside(url, "intents")


def enriched_file(url: str, settings: Settings) -> Path | None:
    """The file of what was written about a catalog's APIs, likewise."""
    return settings.enriched or _beside(url, "enriched")


def _beside(url: str, ending: str) -> Path | None:
    kind, _, path = url.partition(":")
    return Path(f"{path}.{ending}") if kind == "sqlite" else None
