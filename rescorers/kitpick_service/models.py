"""The models of a service: loaded before the first request, each with its own queue."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_engines.contract import IndexSchema, Vector
from kitpick_engines.text import TEMPLATE_VERSION
from kitpick_models.batching import Row, padded_length
from kitpick_models.encoders import CrossEncoder, Encoder
from kitpick_models.settings import RuntimeSettings
from kitpick_rescorers.model_loader import ModelLoader
from kitpick_rescorers.models import Models
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import Requirement
from kitpick_rescorers.state import Degradation
from kitpick_service.admission import SearchCosts
from kitpick_service.errors import Cancelled, NotInTime, Overloaded, Unready
from kitpick_service.metrics import Metrics, QueueMetrics
from kitpick_service.protocol import ModelInfo
from kitpick_service.queue import ModelQueue
from kitpick_service.settings import ServiceSettings
from kitpick_service.ticket import Owner, Ticket

_RANKED: frozenset[Requirement] = frozenset({"scorer", "ranker"})
_TEXTS_AT_ONCE = 64
"""Tokenised before somebody looks at the deadline again."""
_REMEMBERED = 4_096
"""Requests and sentences whose vectors are kept, about 1.5 KB each."""
Vectors = NDArray[np.float32]
Encode = Callable[[Sequence[str]], Sequence[Vector]]


class QueryVectors:
    """Vectors by key and text, the last ones. Safe to use from several threads.

    Each API key has its own, and each tenant that it speaks for: how fast an answer comes tells nobody what
    somebody else asked.
    """

    def __init__(self, most: int = _REMEMBERED) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Owner, str], Vector] = OrderedDict()

    def of(self, owner: Owner, texts: Sequence[str], encode: Encode) -> list[Vector]:
        """Unit vectors, float32 (d,), one a text; `encode` makes those that are not known, together."""
        with self._lock:
            found = {text: self._known.get((owner, text)) for text in texts}
        missing = [text for text, vector in found.items() if vector is None]
        made = dict(zip(missing, encode(missing), strict=True)) if missing else {}
        vectors = {text: vector for text, vector in found.items() if vector is not None} | made
        self._keep(owner, vectors)
        return [vectors[text] for text in texts]

    def _keep(self, owner: Owner, vectors: dict[str, Vector]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._known[owner, text] = vector
                self._known.move_to_end((owner, text))
            while len(self._known) > self._most:
                self._known.popitem(last=False)


class ServiceModels:
    """Encoder, cross-encoder and classifier of query kinds. Safe to use from several threads."""

    def __init__(self, settings: ServiceSettings, metrics: Metrics, label: str = "") -> None:
        """Loads the models that the settings name.

        `label` stands before the names of the queues, where another set's are counted as well.

        Raises:
            ModelError: one of them is missing, damaged, or cannot run on the device asked for.
        """
        runtime = RuntimeSettings(
            provider=settings.provider, threads=settings.threads, cached_tokens=settings.cached_tokens
        )
        chosen, devices = settings.chosen_models(), map(int, settings.devices.split(","))
        loaders = [ModelLoader(chosen, replace(runtime, device=device)) for device in devices]
        encoders = [each.encoder.get() for each in loaders]
        scorers = [each.cross_encoder.get() for each in loaders]
        self.encoder, self.cross_encoder = encoders[0], scorers[0]
        self._loader = loaders[0]
        self._loader.query_kind.get()
        self._loader.list_ranker.get()
        self.cache = ScoreCache(settings.score_cache)
        self.query_vectors = QueryVectors()
        most = settings.max_waiting_tokens
        self._vectors = _queue(f"{label}encoder", encoders, metrics, most)
        self._scores = _queue(f"{label}cross_encoder", scorers, metrics, most)
        self._warm_up(settings.warm_up_seconds)

    @property
    def queues(self) -> tuple[ModelQueue, ...]:
        """The queue of every model that has one."""
        return (self._vectors, self._scores)

    @property
    def schema(self) -> IndexSchema:
        """Schema of an index that this encoder's vectors can be searched in."""
        return IndexSchema(self.encoder.identity, self.encoder.dimensions, TEMPLATE_VERSION)

    def costs(self) -> SearchCosts:
        """What searches cost by the speed of the models at hand: of whole texts, as if each were alone.

        Nothing where no speed is known, without a warm-up.
        """
        longest = (self.encoder.manifest.max_tokens, self.cross_encoder.manifest.max_tokens)
        seconds = [
            n / queue.speed if queue.speed else 0.0 for n, queue in zip(longest, self.queues, strict=True)
        ]
        return SearchCosts(*seconds)

    def scorer(self, ticket: Ticket) -> QueuedScorer:
        """The cross-encoder, on behalf of one request."""
        return QueuedScorer(self.cross_encoder, self._scores, ticket)

    def scores_of(self, ticket: Ticket) -> ScoreCache:
        """The scores that whoever sent a request may find."""
        return self.cache.of_owner(ticket.owner)

    def for_needs(
        self, needs: frozenset[Requirement], ticket: Ticket, vector_model: str = ""
    ) -> tuple[Models, tuple[Degradation, ...]]:
        """The models that stages need, on behalf of one request, and those that are missing.

        `vector_model` is the identity of the model that made the request's vector; empty for this encoder.
        """
        # A list ranker fits the cross-encoder, which is at hand, whether the stages need it or not.
        models, missing = self._loader.for_needs(needs | {"scorer"}, vector_model)
        scorer = self.scorer(ticket) if "scorer" in needs else None
        return replace(models, scorer=scorer, cache=self.scores_of(ticket)), missing

    def encode(self, texts: Sequence[str | Sequence[int]], ticket: Ticket) -> Vectors:
        """Unit vectors (n, d) of texts, or of token ids.

        Raises:
            Overloaded, DeadlinePassed, Cancelled, Unready, ModelError: see `ModelQueue.run`.
        """
        rows = []
        for text in texts:
            ticket.check()
            rows.append(
                self.encoder.rows([text])[0] if isinstance(text, str) else self.encoder.row_of_ids(text)
            )
        return self._vectors.run(rows, ticket)

    def queries(self, ticket: Ticket) -> QueuedEncoder:
        """The encoder, on behalf of one request."""
        return QueuedEncoder(self, ticket)

    def remembered_queries(self, ticket: Ticket) -> RememberedEncoder:
        """The encoder, on behalf of one call of several that ask the same."""
        return RememberedEncoder(self, ticket)

    def info(self) -> dict[str, ModelInfo]:
        """Every model by its role."""
        unfit = {each.stage for each in self._loader.for_needs(_RANKED)[1]}
        models = self._loader.identities().items()
        found = {role: ModelInfo(model, "probability") for role, model in models if role not in unfit}
        found["encoder"] = ModelInfo(self.encoder.identity, "cosine")
        scale = self.cross_encoder.manifest.score_scale
        found["cross_encoder"] = ModelInfo(self.cross_encoder.identity, scale)
        return found

    def close(self) -> None:
        """Finishes waiting work, and ends the threads of the queues."""
        for queue in self.queues:
            queue.close()

    def _warm_up(self, seconds: float) -> None:
        try:
            self._vectors.warm_up(self.encoder.manifest.max_tokens, seconds / 2)
            self._scores.warm_up(self.cross_encoder.manifest.max_tokens, seconds / 2)
        except Exception:
            self.close()
            raise


class QueuedEncoder:
    """The encoder behind its queue, for one request: a `kitpick_rescorers.contracts.QueryEncoder`."""

    def __init__(self, models: ServiceModels, ticket: Ticket) -> None:
        self._models = models
        self._ticket = ticket
        encoder = models.encoder
        self.identity, self.unmatched_below = encoder.identity, encoder.unmatched_below
        self.knows, self.reads_language = encoder.knows, encoder.reads_language
        self.reads_at_most = encoder.reads_at_most

    def vectors(self, texts: tuple[str, ...]) -> Sequence[Vector]:
        """Unit vectors, float32 (d,), one a text; raises like `ServiceModels.encode`."""
        return list(self._models.encode(texts, self._ticket))


class RememberedEncoder(QueuedEncoder):
    """The same, which embeds what one caller asks again and again only once."""

    def vectors(self, texts: tuple[str, ...]) -> Sequence[Vector]:
        """Unit vectors, float32 (d,), one a text; raises like `ServiceModels.encode`."""
        return self._models.query_vectors.of(
            self._ticket.owner,
            texts,
            lambda missing: super(RememberedEncoder, self).vectors(tuple(missing)),
        )


class QueuedScorer:
    """The cross-encoder behind its queue, for one request of a stage or dialect."""

    def __init__(self, model: CrossEncoder, queue: ModelQueue, ticket: Ticket) -> None:
        self._model = model
        self._queue = queue
        self._ticket = ticket
        self.identity, self.manifest, self.probability = model.identity, model.manifest, model.probability
        self.reads_at_most, self.request_read = model.reads_at_most, model.request_read

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,), one a text, the same as without a queue.

        Raises:
            Overloaded, Cancelled, Unready: kept in the ticket, because they must fail the whole request.
            NotInTime, DeadlinePassed, ModelError: the order stands without scores.
            DoneInPart: what was scored before the deadline.
        """
        try:
            rows: list[Row] = []
            for start in range(0, len(texts), _TEXTS_AT_ONCE):
                self._ticket.check()
                rows += self._model.rows(query, texts[start : start + _TEXTS_AT_ONCE])
            started = time.perf_counter()
            logits = self._queue.run(rows, self._ticket)
            self._ticket.pairs += len(rows)
            self._ticket.reading += time.perf_counter() - started
            return logits
        except NotInTime:
            raise
        except (Overloaded, Cancelled, Unready) as error:
            self._ticket.refusal = error
            raise

    def in_time(self, query: str, texts: Sequence[str]) -> int:
        """How many of the texts can be scored before the deadline, were nothing else asked; at least one.

        While other work waits it says all of them: `score` then refuses what is too much.
        """
        if not texts:
            return 0
        bucket = self._model.settings.bucket
        rows = self._model.rows(query, texts[:_TEXTS_AT_ONCE])
        lengths = [padded_length(len(row.ids), bucket) for row in rows]
        fitting = self._queue.rows_in_time(sum(lengths) / len(lengths), self._ticket)
        return len(texts) if fitting is None else max(1, min(fitting, len(texts)))


def _queue(
    name: str, sessions: Sequence[Encoder] | Sequence[CrossEncoder], metrics: Metrics, most: int
) -> ModelQueue:
    return ModelQueue(name, sessions, sessions[0].workers.count, QueueMetrics(metrics, name), most)
