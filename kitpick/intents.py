"""Sample requests of a catalog: adding them, and learning from use. `SampleVotes` adds their votes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kitpick.known_ids import nearest, require_visible
from kitpick.model_set import asked_by
from kitpick.settings import Settings
from kitpick_engines.contract import Engine, Filter
from kitpick_engines.text import storable
from kitpick_rescorers.contracts import QueryEncoder
from kitpick_rescorers.intents.confirmed import confirmed
from kitpick_rescorers.intents.permitted import PermittedApis
from kitpick_rescorers.intents.sample_votes import SampleVotes
from kitpick_rescorers.intents.store import OPERATOR, Chooser, Intent, Verdict
from kitpick_rescorers.intents.votes import NO_INTENTS, Intents, Tally, tally_votes

_ANONYMOUS = "anonymous"
_BATCH = 256


class CatalogIntents:
    """The samples of one catalog.

    Whatever reads or stores them raises `EngineUnavailable` where it cannot; whatever embeds, `ModelError`.
    """

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
        """Adds samples and returns their number. Samples of the same request and API are one."""
        return self._put([Intent(storable(each.request), each.api) for each in intents], OPERATOR)

    def judge(
        self, request: str, apis: Sequence[str], client: str, permitted: Filter, verdict: Verdict
    ) -> list[str]:
        """Stores what became of APIs. Returns the ids that the client may see and that were stored."""
        if self._store is None or not request.strip():
            return []
        visible = self._engine.fetch(list(dict.fromkeys(apis)), permitted)
        by = Chooser(storable(client) or _ANONYMOUS, storable(permitted.tenant))
        with asked_by(permitted):
            self._put([Intent(storable(request), document.id) for document in visible], by, verdict)
        return [document.id for document in visible]

    def visible(self, apis: Sequence[str], permitted: Filter) -> list[str]:
        """Those of these ids that a caller may see."""
        return [document.id for document in self._engine.fetch(list(dict.fromkeys(apis)), permitted)]

    def require_visible(self, apis: Sequence[str], permitted: Filter) -> None:
        """Refuses ids of no API that a caller may see.

        Raises:
            UnknownIds: some are.
            ModelError: the encoder cannot be loaded.
        """
        with asked_by(permitted):
            require_visible(self._engine, self._encoder, apis, permitted)

    def nearest(self, api: str, permitted: Filter) -> str:
        """What a caller may have meant by an unknown id: a sentence about ids that they may see, or none."""
        with asked_by(permitted):
            return nearest(self._engine, self._encoder, api, permitted)

    def forget(self, tenant: str | None, before: float) -> int:
        """Removes what clients said, as `IntentStore.forget`; how many rows."""
        return 0 if self._store is None else self._store.forget(tenant, before)

    def behind(self, request: str, permitted: Filter) -> dict[str, Tally]:
        """What speaks for and against the APIs that samples and choices name for a request, by API.

        What was written about APIs is not in it.
        """
        intents, rows = self._near(request, permitted)
        return tally_votes(intents, rows)

    def confirmed(self, request: str, permitted: Filter) -> dict[str, str]:
        """Ids of the APIs that come first for a request because they were confirmed for it, and by whom."""
        intents, rows = self._near(request, permitted)
        return confirmed(intents, rows, request)

    def _near(self, request: str, permitted: Filter) -> tuple[Intents, list[tuple[int, float]]]:
        """The samples, and the rows near a request of APIs that the caller may see, with their cosines."""
        if self._store is None or not self._store.path.exists() or not request.strip():
            return NO_INTENTS, []
        with asked_by(permitted):
            (vector,) = self._encoder.vectors((request,))
        intents = self._store.of_model(self._encoder.identity, storable(permitted.tenant), len(vector))
        return intents, self.votes.near(intents, vector, PermittedApis(self._engine, permitted))

    def _put(self, intents: Sequence[Intent], by: Chooser, verdict: Verdict = "chosen") -> int:
        if self._store is None:
            return 0
        for start in range(0, len(intents), _BATCH):
            batch = intents[start : start + _BATCH]
            vectors = self._encoder.vectors(tuple(intent.request for intent in batch))
            self._store.put(batch, list(vectors), self._encoder.identity, by, verdict)
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
