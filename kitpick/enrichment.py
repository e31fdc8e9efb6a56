"""Has a language model write what the APIs of a catalog are for, and keeps what helps to find them.

For every document that is new or changed: ask, read with suspicion, check, store. A text is kept only if it
makes requests that it has not seen find their API better than before. Texts that were stored before a stop
are not asked for again.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

import msgspec

from kitpick_engines.contract import Candidate, Engine, Filter, SearchRequest, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.lexical import Terms
from kitpick_foundation.errors import FailureKind, KitpickError
from kitpick_ingest.locks import source_lock
from kitpick_rescorers.contracts import QueryEncoder
from kitpick_rescorers.intents.words import WordIndex
from kitpick_rescorers.intents.written import FLOOR, NEAR, Enrichment, ShownTo, WrittenStore
from kitpick_rescorers.llm.endpoint import LlmSettings
from kitpick_rescorers.llm.meter import CallMeter
from kitpick_rescorers.llm.model import CallFailed, CapReached, Message
from kitpick_rescorers.llm.writing import Writing, digest_of, estimated_tokens, question, write

PARALLEL = 8
"""Calls at the same time; as many documents are stored together."""
MAX_FAILURES = 3
"""After this many groups of calls in a row without any answer, a run ends."""
_DEPTH = 100
"""Candidates among which an API is looked for in a check."""
_SHARE, _LEAST, _MOST = 0.25, 5, 50
_COUNTED = int(_MOST / _SHARE)
"""Candidates that are asked for: more than so many APIs count as so many."""
_RRF = 10.0


_Asked = tuple[ApiDocument, tuple[Message, ...]]
_Answer = Writing | CallFailed | None


class NoPlaceForEnrichments(KitpickError):
    """A catalog on a search server, without a file for what is written."""

    failure = FailureKind.SETTING

    def __init__(self) -> None:
        super().__init__("there is no file for what is written: name one with KITPICK_ENRICHED")


class Estimate(msgspec.Struct, frozen=True):
    """What asking for all that is missing would take."""

    documents: int
    """Number of documents in the catalog."""
    asked: int
    """New or changed ones."""
    gone: int
    """APIs that are no longer in the catalog and will be forgotten."""
    prompt_tokens: int
    completion_tokens: int
    """At most."""
    cost: float
    """At most, in the currency of the prices."""


class EnrichReport(msgspec.Struct, frozen=True):
    """What a run did."""

    asked: int
    outcomes: dict[str, int]
    """APIs by `Outcome`."""
    kept: int
    """Texts that vote from now on."""
    dropped: int
    """Texts that helped to find nothing."""
    failed: int
    """Calls without an answer; they are made again next time."""
    gone: int
    calls: int
    tokens: int
    cost: float
    stopped: str = ""
    """Why it ended before everything was asked; empty if it did not."""
    silent: bool = False
    """Whether that is because nobody answers."""


class Enricher:
    """Keeps what is written about a catalog in line with its documents."""

    def __init__(self, engine: Engine, encoder: QueryEncoder, store: WrittenStore) -> None:
        self._engine = engine
        self._encoder = encoder
        self.store = store
        """What was written so far."""
        self._check = HeldOutCheck(engine, encoder)

    def estimate(self, prices: LlmSettings) -> Estimate:
        """Tokens and cost of a run. Opens no connection to the model."""
        pending = [estimated_tokens(messages) for _, messages in self._pending()]
        prompt, completion = (sum(pair[side] for pair in pending) for side in (0, 1))
        cost = (prompt * prices.prompt_price + completion * prices.completion_price) / 1e6
        present = self._present()
        return Estimate(len(present), len(pending), len(self._gone(present)), prompt, completion, cost)

    def run(self, meter: CallMeter, model: str) -> EnrichReport:
        """Asks for what is missing, group by group, until all is there, a cap is reached or nobody answers.

        `model` is the identity of what is asked, for the provenance.

        Raises:
            SourceBusy: another process is at it.
            EngineError, ModelError: the catalog cannot be read, or requests cannot be embedded.
        """
        with source_lock(None, self._engine.url, "enrichment", 0.0):
            return self._run(meter, model)

    def _run(self, meter: CallMeter, model: str) -> EnrichReport:
        gone = self.store.remove(self._gone(self._present()))
        self.store.show_to({document.id: ShownTo.of(document) for document in self._documents()})
        counts: Counter[str] = Counter()
        stopped, unanswered = "", 0
        pending = iter(list(self._pending()))
        with ThreadPoolExecutor(PARALLEL) as pool:
            while not stopped and (group := list(islice(pending, PARALLEL))):
                answers = list(pool.map(lambda item: _asked(meter, *item), group))
                counts += self._taken(group, answers, model)
                failures = [answer for answer in answers if isinstance(answer, CallFailed)]
                unanswered = unanswered + 1 if len(failures) == len(group) else 0
                stopped = _end(failures, unanswered)
        outcomes = {name: counts[name] for name in ("kept", "dropped", "unusable") if counts[name]}
        return EnrichReport(
            asked=sum(outcomes.values()),
            outcomes=outcomes,
            kept=counts["texts kept"],
            dropped=counts["texts dropped"],
            failed=counts["failed"],
            gone=gone,
            calls=meter.calls,
            tokens=meter.tokens,
            cost=meter.cost,
            stopped=stopped,
            silent=bool(counts["failed"]) and (not outcomes or unanswered == MAX_FAILURES),
        )

    def _taken(self, group: Sequence[_Asked], answers: Sequence[_Answer], model: str) -> Counter[str]:
        """Stores the answers of a group, and counts them."""
        counts: Counter[str] = Counter()
        for (document, messages), answer in zip(group, answers, strict=True):
            if isinstance(answer, CallFailed):
                counts["failed"] += not isinstance(answer, CapReached)
            else:
                counts += self._stored(document, messages, answer, model)
        return counts

    def _pending(self) -> Iterator[_Asked]:
        """Documents that are new or changed, without their definitions, and their prompts."""
        known = {api: entry.digest for api, entry in self.store.entries().items()}
        for document in self._documents():
            messages = question(document)
            if known.get(document.id) != digest_of(messages):
                yield msgspec.structs.replace(document, definition=""), messages

    def _documents(self) -> Iterator[ApiDocument]:
        live = self._engine.live()
        return (item.document for item in self._engine.documents(live[0])) if live else iter(())

    def _present(self) -> frozenset[str]:
        live = self._engine.live()
        return frozenset(key for key, _ in self._engine.hashes(live[0])) if live else frozenset()

    def _gone(self, present: frozenset[str]) -> list[str]:
        return [api for api in self.store.entries() if api not in present]

    def _stored(
        self, document: ApiDocument, messages: tuple[Message, ...], writing: Writing | None, model: str
    ) -> Counter[str]:
        entry = Enrichment(
            document.id, digest_of(messages), model, time.time(), "unusable", shown_to=ShownTo.of(document)
        )
        vectors: Sequence[Vector] = ()
        if writing is not None:
            kept = self._check.kept(document, writing)
            vectors = self._encoder.vectors(kept) if kept else ()
            outcome = "kept" if kept else "dropped"
            entry = msgspec.structs.replace(
                entry, outcome=outcome, sentence=writing.sentence, requests=writing.requests, kept=kept
            )
        self.store.put(entry, vectors, self._encoder.identity)
        texts = 0 if writing is None else len(writing.texts)
        return Counter(
            {entry.outcome: 1, "texts kept": len(entry.kept), "texts dropped": texts - len(entry.kept)}
        )


class HeldOutCheck:
    """Whether a text helps others to find its API. No language model is asked.

    Every text is tried on the texts beside it, which are held out from it: each is searched as whoever may
    see the API would search it, without any text and with one vote as one ranking more. A text speaks for
    another that it is nearer to than the description is. A text is kept if it finds the API first, or better
    with a text that speaks for it, or if it speaks for one that is then found better.
    Before that, the text itself must find its API in the first quarter of what those who see it can see (at
    least 5, at most 50 places): where the description knows nothing of what a text says, it is dropped.
    """

    def __init__(self, engine: Engine, encoder: QueryEncoder) -> None:
        self._engine = engine
        self._encoder = encoder
        self._terms = Terms()

    def kept(self, document: ApiDocument, writing: Writing) -> tuple[str, ...]:
        """The texts that help."""
        texts = writing.texts
        tried = [
            _Tried(text, vector, *self._places(document, text, vector))
            for text, vector in zip(texts, self._encoder.vectors(texts), strict=True)
        ]
        near = [each for each in tried if each.before <= min(_MOST, max(_LEAST, _SHARE * each.among))]
        return tuple(each.text for each in near if self._helps(each, [o for o in near if o is not each]))

    def _places(self, document: ApiDocument, text: str, vector: Vector) -> tuple[int, int, float, int]:
        """Where both rankings together put the API, from 1, and where one more that has it first would.

        Then the cosine of the text with the API's own vector, −1 where it is not among the candidates, and
        how many candidates there are.
        """
        sees = Filter(tenant=document.tenant, principals=frozenset(document.allowed))
        request = SearchRequest(text, vector, _COUNTED, sees, model=self._encoder.identity)
        found = self._engine.search(request)
        worth = {item.id: _worth(item) for item in found}
        cosine = next((float(item.vector @ vector) for item in found if item.id == document.id), -1.0)
        own = worth.pop(document.id, 0.0)
        others = sorted(worth.values(), reverse=True)
        before, after = (sum(other > mine for other in others) for mine in (own, own + 1 / (_RRF + 1)))
        return 1 + (before if own else len(others)), 1 + after, cosine, len(found)

    def _helps(self, each: _Tried, held_out: Sequence[_Tried]) -> bool:
        """Whether a text finds its API first, or better with another, or makes another find it better."""
        if not held_out or each.before == 1:
            return bool(held_out)
        found_better = each.after < each.before and any(self._votes(o, each) for o in held_out)
        return found_better or any(o.after < o.before and self._votes(each, o) for o in held_out)

    def _votes(self, each: _Tried, asked: _Tried) -> bool:
        """Whether a text brings another nearer to its API than the description does, or shares its words."""
        near = float(each.vector @ asked.vector) > max(asked.cosine, NEAR)
        return near or bool(WordIndex([each.text], self._terms).near(asked.text, FLOOR))


def _worth(item: Candidate) -> float:
    ranks = [place.rank for place in (item.lexical, item.dense) if place is not None]
    return sum(1 / (_RRF + rank) for rank in ranks if rank <= _DEPTH)


class _Tried(NamedTuple):
    """A text as a request, with the places of its API."""

    text: str
    vector: Vector
    before: int
    """Without anything that was written."""
    after: int
    """With the vote of a text that is near."""
    cosine: float
    """With what is written in the document."""
    among: int
    """Candidates: APIs that the one who may see it can see, or `_COUNTED` and more."""


def _asked(meter: CallMeter, document: ApiDocument, messages: tuple[Message, ...]) -> _Answer:
    try:
        return write(meter, messages, document)
    except CallFailed as error:
        return error


def _end(failures: Sequence[CallFailed], unanswered: int) -> str:
    """Why nothing more is asked after a group with these failures; empty to go on."""
    capped = [str(error) for error in failures if isinstance(error, CapReached)]
    if capped:
        return capped[0]
    return f"nobody answers: {failures[-1]}" if unanswered == MAX_FAILURES else ""
