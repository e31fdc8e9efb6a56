"""What a language model wrote about APIs: a file beside the catalog, which votes for them.

A search gets ids and numbers out of it, and no text. A text can only speak for the API that it was written
about, and only to callers who may see that API; these find it on the explain page.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.contract import Filter, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.lexical import Mask, Terms
from kitpick_foundation.disk import connect_beside, cure
from kitpick_foundation.fork_gate import FORKS_WAIT
from kitpick_foundation.forks import fork_lock
from kitpick_rescorers.intents.permitted import ApiRanking, PermittedApis
from kitpick_rescorers.intents.store import TABLES, Intent, IntentStore
from kitpick_rescorers.intents.stored import DamagedRow, decoded
from kitpick_rescorers.intents.votes import Intents, cosines
from kitpick_rescorers.intents.words import WordIndex

_TABLES = f"""
{TABLES}
CREATE TABLE IF NOT EXISTS enrichments (api TEXT PRIMARY KEY, entry BLOB NOT NULL) WITHOUT ROWID;
"""
_RRF = 10.0
_COUNTED = 50
"""Places of an order that are worth anything."""
Outcome = Literal["kept", "dropped", "unusable"]
"""`kept`: at least one text votes. `dropped`: none helped. `unusable`: the answer was none."""


class ShownTo(msgspec.Struct, frozen=True):
    """Who may see an API: fields as of `ApiDocument`."""

    tenant: str = ""
    allowed: tuple[str, ...] = ()

    @classmethod
    def of(cls, document: ApiDocument) -> ShownTo:
        """Those who may see a document."""
        return cls(document.tenant, document.allowed)

    def includes(self, caller: Filter) -> bool:
        """Whether a caller is one of them."""
        allowed = not self.allowed or not caller.principals.isdisjoint(self.allowed)
        return allowed and self.tenant in ("", caller.tenant)


class Enrichment(msgspec.Struct, frozen=True):
    """What was written about one API, and where it comes from."""

    api: str
    """Id of the document."""
    digest: str
    """Digest of all that the model was shown."""
    model: str
    """Name and host of the language model."""
    at: float
    """Seconds since the epoch."""
    outcome: Outcome
    sentence: str = ""
    """What the API is for."""
    requests: tuple[str, ...] = ()
    """Requests that it should serve."""
    kept: tuple[str, ...] = ()
    """Those of all texts that made others find the API better: only they vote."""
    shown_to: ShownTo | None = None
    """Who can see the API: for them, the words of its texts count in how rare words are.

    None in files from before this was kept: they count for nobody until the next enrichment."""

    def kept_for(self, caller: Filter) -> tuple[str, ...]:
        """The texts that vote, for a caller who may see the API as it was when they were written."""
        return self.kept if self.shown_to is not None and self.shown_to.includes(caller) else ()


TRUST = 0.5
"""Weight of its ranking, where no sample of the operator speaks for or against a best candidate."""
NEAR, FLOOR = 0.3, 0.2
"""Cosine, and share of words, from which a check holds two texts for similar."""


class Nearness(NamedTuple):
    """How near a request is to what was written about an API."""

    words: float
    """Mean share of words with its texts, in [0, 1]."""
    nearest: float
    """Cosine with the nearest of its texts."""
    usage: float
    """Cosine with the mean of its texts."""


EQUAL = Nearness(1.0, 1.0, 1.0)
"""Weights of the three orders. An order of weight 0 has no say."""


def written_votes(found: Mapping[str, Nearness], weights: Nearness = EQUAL) -> dict[str, float]:
    """Votes of APIs in (0, 1]: the mean of what their places are worth in three orders, by each nearness.

    Places count rather than values, because what people ask is seldom near to any text, and yet the right
    API is nearer than others. Equal values share a place.
    """
    votes: defaultdict[str, float] = defaultdict(float)
    for weight, values in zip(weights, zip(*found.values(), strict=True), strict=False):
        places = {value: place for place, value in reversed(list(enumerate(sorted(values, reverse=True))))}
        for api, value in zip(found, values, strict=True):
            if weight > 0 and value > 0 and places[value] < _COUNTED:
                votes[api] += weight / sum(weights) * (_RRF + 1) / (_RRF + 1 + places[value])
    return dict(votes)


class WrittenStore:
    """A SQLite file of enrichments. It is created with the first write. Safe to use from several threads.

    Methods raise `EngineUnavailable` where the file cannot be read or written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.samples = IntentStore(path)
        """The texts that vote, with their vectors."""
        self._lock = fork_lock()
        self._known: _Written | None = None

    def put(self, entry: Enrichment, vectors: Sequence[Vector], encoder: str) -> None:
        """Replaces what is known of an API.

        `vectors` are unit vectors of `entry.kept`, one each, by the encoder with this identity.
        """
        with self._connection() as connection:
            connection.execute("DELETE FROM intents WHERE api = ?", (entry.api,))
        if entry.kept:
            self.samples.put([Intent(text, entry.api) for text in entry.kept], vectors, encoder)
        with self._connection() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO enrichments VALUES (?, ?)", (entry.api, msgspec.json.encode(entry))
            )

    def show_to(self, audiences: Mapping[str, ShownTo]) -> None:
        """Changes who may see APIs, where that is not what is known of them."""
        changed = [
            msgspec.structs.replace(entry, shown_to=audiences[api])
            for api, entry in self.entries().items()
            if api in audiences and entry.shown_to != audiences[api]
        ]
        if changed:
            with self._connection() as connection:
                connection.executemany(
                    "UPDATE enrichments SET entry = ? WHERE api = ?",
                    [(msgspec.json.encode(entry), entry.api) for entry in changed],
                )

    def remove(self, apis: Iterable[str]) -> int:
        """Forgets APIs; how many."""
        gone = list(apis)
        for api in gone:
            self.samples.remove(api)
        if gone:
            with self._connection() as connection:
                connection.executemany("DELETE FROM enrichments WHERE api = ?", [(api,) for api in gone])
        return len(gone)

    def entries(self) -> dict[str, Enrichment]:
        """All enrichments by API."""
        if not self.path.exists():
            return {}
        with self._connection() as connection:
            rows = connection.execute("SELECT entry FROM enrichments ORDER BY api").fetchall()
            found = [decoded("enrichments.entry", row[0], Enrichment) for row in rows]
        return {entry.api: entry for entry in found}

    def entry(self, api: str) -> Enrichment | None:
        """The enrichment of one API; None where it has none."""
        if not self.path.exists():
            return None
        with self._connection() as connection:
            row = connection.execute("SELECT entry FROM enrichments WHERE api = ?", (api,)).fetchone()
            return None if row is None else decoded("enrichments.entry", row[0], Enrichment)

    def undo(self) -> int:
        """Forgets everything; of how many APIs. The file is gone afterwards."""
        count = len(self.entries())
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        return count

    @FORKS_WAIT
    def near(self, request: str, vector: Vector, encoder: str, caller: Filter) -> NearTexts:
        """How near a request of a caller is to what is written about each API."""
        written = self._read(encoder, len(vector))
        return NearTexts(written.apis, written.nearness(request, vector, caller))

    def _read(self, encoder: str, dimensions: int) -> _Written:
        texts = self.samples.of_model(encoder, dimensions=dimensions)
        with self._lock:
            if self._known is None or self._known.texts is not texts:
                self._known = _Written(texts, self.entries() if texts.apis else {})
            return self._known

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with FORKS_WAIT, closing(connect_beside(self.path)) as connection, connection:
                connection.executescript(_TABLES)
                yield connection
        except (sqlite3.Error, UnicodeDecodeError, DamagedRow) as error:
            raise EngineUnavailable(f"{self.path}: enrichments: {error}{cure(error, self.path)}") from error


class NearTexts:
    """How near a request is to what was written: all APIs, by each nearness."""

    def __init__(self, apis: Sequence[str], columns: Sequence[NDArray[np.float64]]) -> None:
        """`columns` are those of `Nearness`, each (n,)."""
        self._apis = apis
        self._columns = columns
        self.rankings = [
            ApiRanking(np.argsort(-column, kind="stable").tolist(), apis.__getitem__, _COUNTED)
            for column in columns
        ]
        """Their rows by each nearness."""

    def of(self, rows: Iterable[int]) -> dict[str, Nearness]:
        """How near it is to the APIs of these rows."""
        return {
            self._apis[row]: Nearness(*(float(column[row]) for column in self._columns))
            for row in sorted(set(rows))
        }

    def permitted(self, apis: PermittedApis) -> dict[str, Nearness]:
        """How near it is to what may be seen: those that can have a vote."""
        return self.of(row for ranking in self.rankings for row in ranking.first(apis))


NOTHING_WRITTEN = NearTexts((), ())


class _Written:
    """All texts of one encoder, made ready to be compared with requests. Rows are APIs."""

    def __init__(self, texts: Intents, entries: Mapping[str, Enrichment]) -> None:
        self.texts = texts
        self.apis = list(dict.fromkeys(texts.apis))
        place = {api: row for row, api in enumerate(self.apis)}
        self._owner = np.array([place[api] for api in texts.apis], dtype=np.int64)
        self._counts = np.bincount(self._owner, minlength=len(self.apis))
        self._words = WordIndex(texts.requests, Terms())
        shown_to = [entries[api].shown_to if api in entries else None for api in texts.apis]
        self._audiences = list(dict.fromkeys(shown_to))
        place_of = {each: place for place, each in enumerate(self._audiences)}
        self._audience = np.array([place_of[each] for each in shown_to], dtype=np.int64)
        means = np.zeros((len(self.apis), texts.vectors.shape[1]))
        np.add.at(means, self._owner, texts.vectors)
        lengths = np.linalg.norm(means, axis=1, keepdims=True)
        self._means = means / np.where(lengths > 0, lengths, 1)

    def nearness(self, request: str, vector: Vector, caller: Filter) -> tuple[NDArray[np.float64], ...]:
        """The columns of `Nearness`, each (n,): nothing a caller may not see moves another's numbers."""
        words, nearest = np.zeros(len(self.apis)), np.full(len(self.apis), -1.0)
        if not self.apis:
            return words, nearest, words
        for row, share in self._words.near(request, 0.0, self._counted(caller)):
            words[self._owner[row]] += share / self._counts[self._owner[row]]
        np.maximum.at(nearest, self._owner, cosines(self.texts.vectors, vector))
        return words, nearest, cosines(self._means, vector.astype(np.float64))

    def _counted(self, caller: Filter) -> Mask:
        """The texts about what a caller may see, bool (n,)."""
        included = [each is not None and each.includes(caller) for each in self._audiences]
        counted: Mask = np.array(included)[self._audience]
        return counted
