"""What a language model wrote about APIs: a file beside the catalog, which votes for them and is never shown.

A text reaches nobody: what comes out of here are ids and numbers. It can only speak for the API that it was
written about, and only to callers who may see that API.
"""

from __future__ import annotations

import math
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Literal

import msgspec

from kitpick_engines.contract import Vector
from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.intents.store import TABLES, Intent, IntentStore
from kitpick_engines.intents.votes import Intents, Voting, near_samples
from kitpick_engines.lexical.words import Terms
from kitpick_foundation.disk import full_disk, is_full

_TABLES = f"""
{TABLES}
CREATE TABLE IF NOT EXISTS enrichments (api TEXT PRIMARY KEY, entry BLOB NOT NULL) WITHOUT ROWID;
"""
Outcome = Literal["kept", "dropped", "unusable"]
"""`kept`: at least one text votes. `dropped`: none helped. `unusable`: the answer was none."""


class Enrichment(msgspec.Struct, frozen=True):
    """What was written about one API, and where it comes from."""

    api: str
    """Id of the document."""
    digest: str
    """Of all that the model was shown."""
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


class WrittenWeights(msgspec.Struct, frozen=True):
    """How what was written counts among the votes for an API; a sample of the operator counts 1 at most."""

    vectors: float = 1.0
    """Of the text that is nearest by meaning: times cosine to the power of `Voting.sharpness`."""
    words: float = 0.5
    """Of the text that shares most words: times the square of the share."""
    floor: float = 0.2
    """Share of words below which a text says nothing about a request."""


class WrittenStore:
    """A SQLite file of enrichments. It is created with the first write. Safe to use from several threads."""

    def __init__(self, path: Path, voting: Voting, weights: WrittenWeights) -> None:
        self.path = path
        self.samples = IntentStore(path)
        """The texts that vote, with their vectors."""
        self._voting = voting
        self._weights = weights
        self._lock = threading.Lock()
        self._words: tuple[Intents, WordIndex] | None = None

    def put(self, entry: Enrichment, vectors: Sequence[Vector], encoder: str) -> None:
        """Replaces what is known of an API.

        Args:
            entry: the new enrichment.
            vectors: unit vectors of `entry.kept`, one each.
            encoder: identity of what made them.

        Raises:
            EngineUnavailable: the file cannot be written.
        """
        with self._connection() as connection:
            connection.execute("DELETE FROM intents WHERE api = ?", (entry.api,))
        if entry.kept:
            self.samples.put([Intent(text, entry.api) for text in entry.kept], vectors, encoder)
        with self._connection() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO enrichments VALUES (?, ?)", (entry.api, msgspec.json.encode(entry))
            )

    def remove(self, apis: Iterable[str]) -> int:
        """Forgets APIs; how many.

        Raises:
            EngineUnavailable: the file cannot be written.
        """
        gone = list(apis)
        for api in gone:
            self.samples.remove(api)
        if gone:
            with self._connection() as connection:
                connection.executemany("DELETE FROM enrichments WHERE api = ?", [(api,) for api in gone])
        return len(gone)

    def entries(self) -> dict[str, Enrichment]:
        """All enrichments by API.

        Raises:
            EngineUnavailable: the file cannot be read.
        """
        if not self.path.exists():
            return {}
        with self._connection() as connection:
            rows = connection.execute("SELECT entry FROM enrichments ORDER BY api").fetchall()
        found = [msgspec.json.decode(row[0], type=Enrichment) for row in rows]
        return {entry.api: entry for entry in found}

    def undo(self) -> int:
        """Forgets everything; of how many APIs. The file is gone afterwards."""
        count = len(self.entries())
        for suffix in ("", "-wal", "-shm"):
            self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        return count

    def votes(self, request: str, vector: Vector, encoder: str) -> dict[str, float]:
        """Votes by API for a request, above 0, of what is written nearest to it by meaning and by words.

        Of an API one text counts in each of the two, so that writing more about it gains nothing.

        Raises:
            EngineUnavailable: the file cannot be read.
        """
        texts = self.samples.of_model(encoder)
        weights = self._weights
        found: defaultdict[str, float] = defaultdict(float)
        for api, cosine in _best(texts, near_samples(texts, vector, self._voting)).items():
            found[api] += weights.vectors * cosine**self._voting.sharpness
        for api, share in _best(texts, self._index(texts).near(request, weights.floor)).items():
            found[api] += weights.words * share**2
        return {api: vote for api, vote in found.items() if vote > 0}

    def _index(self, texts: Intents) -> WordIndex:
        with self._lock:
            if self._words is None or self._words[0] is not texts:
                self._words = (texts, WordIndex(texts.requests, Terms()))
            return self._words[1]

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(self.path, timeout=30.0)) as connection, connection:
                connection.executescript(_TABLES)
                yield connection
        except sqlite3.Error as error:
            cure = f"; {full_disk(self.path)}" if is_full(error) else ""
            raise EngineUnavailable(f"{self.path}: enrichments: {error}{cure}") from error


class WordIndex:
    """Texts by their words: how much of one a request shares, as the cosine of rarity-weighted terms."""

    def __init__(self, texts: Sequence[str], terms: Terms) -> None:
        self._terms = terms
        self._rows: defaultdict[str, list[int]] = defaultdict(list)
        for row, text in enumerate(texts):
            for term in terms.of_request(text):
                self._rows[term].append(row)
        count = len(texts)
        self._rarity = {term: math.log1p(count / len(rows)) for term, rows in self._rows.items()}
        self._unseen = math.log1p(count)
        squares = [0.0] * count
        for term, rows in self._rows.items():
            for row in rows:
                squares[row] += self._rarity[term] ** 2
        self._lengths = [math.sqrt(square) for square in squares]

    def near(self, request: str, floor: float) -> list[tuple[int, float]]:
        """Rows that share enough words with a request, with the share in [0, 1], the largest first."""
        asked = self._terms.of_request(request)
        length = math.sqrt(sum(self._rarity.get(term, self._unseen) ** 2 for term in asked))
        shared: defaultdict[int, float] = defaultdict(float)
        for term in asked:
            for row in self._rows.get(term, ()):
                shared[row] += self._rarity[term] ** 2
        shares = ((row, min(1.0, square / (length * self._lengths[row]))) for row, square in shared.items())
        return sorted((item for item in shares if item[1] >= floor), key=lambda item: (-item[1], item[0]))


def _best(texts: Intents, near: Sequence[tuple[int, float]]) -> dict[str, float]:
    """The nearest text of each API; rows come nearest first."""
    best: dict[str, float] = {}
    for row, nearness in near:
        best.setdefault(texts.apis[row], nearness)
    return best
