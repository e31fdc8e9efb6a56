"""The two networks that read texts: an encoder, which reads one, and a cross-encoder, which reads a pair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from msgspec import UNSET
from numpy.typing import NDArray

from kitpick_foundation.errors import in_brief
from kitpick_models.batching import Ids, Row, feeds, run_batched
from kitpick_models.errors import CorruptModel, NotFinite, failures_as
from kitpick_models.manifest import MODEL, TOKENIZER, Manifest, Pooling, place_of, read_file
from kitpick_models.session import open_session
from kitpick_models.settings import RuntimeSettings
from kitpick_models.tokens import TokenIds, kept_of_first, pairs, single_of_ids, singles

Array = NDArray[np.float32]


def pooled(answer: Array, mask: Ids, pooling: Pooling) -> Array:
    """Unit vectors, float32 (n, d).

    Args:
        answer: of the graph: vectors of tokens (n, tokens, d), or with `none` those of texts (n, d).
        mask: 1 where there is a token, int64 (n, tokens).
        pooling: how the vectors of tokens become one.
    """
    vectors = _unscaled(answer.astype(np.float32, copy=False), mask, pooling)
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if not lengths.all():
        raise NotFinite("an encoder answered a vector of zeros: its pooling is not the one it learned with")
    unit: Array = vectors / lengths
    return unit


def _unscaled(answer: Array, mask: Ids, pooling: Pooling) -> Array:
    """Vectors of texts of any length; that of a sum is as good as that of a mean."""
    vectors: Array = answer
    present = mask[:, :, None] > 0
    if pooling == "cls":
        vectors = answer[:, 0]
    elif pooling == "last":
        vectors = answer[np.arange(len(answer)), mask.sum(axis=1) - 1]
    elif pooling == "max":
        vectors = np.where(present, answer, -np.inf).max(axis=1)
    elif pooling == "mean":
        vectors = np.where(present, answer, 0).sum(axis=1)
    return vectors


class _Network:
    """A model folder with a tokenizer and a graph, opened. Safe to use from several threads."""

    def __init__(self, folder: Path, manifest: Manifest, settings: RuntimeSettings) -> None:
        self.manifest = manifest
        self.identity = manifest.identity
        self.settings = settings
        self.tokens = open_tokenizer(folder, manifest, settings)
        self._session = open_session(folder, manifest, settings)
        self.workers = self._session.workers
        _try_out(self, folder)

    def run(self, rows: Sequence[Row], length: int) -> NDArray[np.float32]:
        """Numbers (n, …) of rows in one batch, each padded to `length` tokens."""
        return self._session.run(feeds(rows, length))


class Encoder(_Network):
    """A sentence encoder. Safe to use from several threads.

    On a CPU a text's vector is the same to the last bit alone and in any company.
    """

    def __init__(self, folder: Path, manifest: Manifest, settings: RuntimeSettings) -> None:
        self._reading = None if manifest.reading is UNSET else manifest.reading
        super().__init__(folder, manifest, settings)
        self.dimensions = manifest.dimensions
        self.model_set = ""
        """Name of the model set that it was chosen with; empty where it was chosen alone."""
        self.unmatched_below = manifest.thresholds.get("unmatched")
        """Cosine in [−1, 1] with the nearest text below which a request matches nothing; None: not known."""

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Unit vectors of descriptions of APIs, float32 (n, dimensions).

        Text beyond `manifest.max_tokens` is not read.
        """
        return self._vectors(self._rows(texts, self._reading.document_prefix if self._reading else ""))

    def encode_requests(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The same of requests: some models from elsewhere learned to read these after another prefix."""
        return self._vectors(self.rows(texts))

    def rows(self, texts: Sequence[str]) -> list[Row]:
        """Requests as the model reads them."""
        return self._rows(texts, self._reading.request_prefix if self._reading else "")

    def _rows(self, texts: Sequence[str], prefix: str) -> list[Row]:
        whole = [prefix + text for text in texts] if prefix else texts
        return [Row(*found) for found in singles(self.tokens, whole, self.manifest.max_tokens)]

    def _vectors(self, rows: Sequence[Row]) -> NDArray[np.float32]:
        vectors = np.empty((len(rows), self.dimensions), np.float32)
        run_batched(self.run, rows, vectors, self.settings, self.workers)
        return vectors

    def row_of_ids(self, ids: Sequence[int]) -> Row:
        """A text that comes as token ids of this model's vocabulary, with or without the special tokens.

        Raises:
            UnknownToken: an id that the vocabulary does not have.
        """
        return Row(*single_of_ids(self.tokens, ids, self.manifest.max_tokens))

    def knows(self, word: str) -> bool:
        """Whether a word, in lower case, is one entry of the vocabulary: no slip of spelling, then."""
        return self.tokens.has_word(word)

    def reads_language(self, language: str) -> bool:
        """Whether it says that it reads a language, named by its code."""
        return self.manifest.reads(language)

    def fits(self, text: str) -> bool:
        """Whether a text is read to its end, rather than cut."""
        return self.tokens.fits(text, self.reads)

    @property
    def reads(self) -> int:
        """How many tokens of a text are read."""
        return self.manifest.max_tokens - 2

    def reads_at_most(self, text: str) -> int:
        """How many tokens are read of a text that is too long; 0 where it is read to its end."""
        return self.tokens.filled(text, self.reads)

    def run(self, rows: Sequence[Row], length: int) -> NDArray[np.float32]:
        """Vectors (n, dimensions) of rows in one batch, each padded to `length` tokens."""
        reading = self._reading
        if reading is None:
            return super().run(rows, length)
        # A graph from elsewhere asks for its inputs by their names, and may leave pooling to others.
        ids, mask, types = feeds(rows, length, reading.padding)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        answer = self._session.run([given[name] for name in self._session.inputs])
        return pooled(answer, mask, reading.pooling)


class CrossEncoder(_Network):
    """A cross-encoder. Safe to use from several threads.

    On a CPU a pair's score is the same to the last bit alone and in any company.
    """

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits of the pairs (query, text), float32 (n,).

        A pair of more than `manifest.max_tokens` is cut, the longer of both first.
        """
        rows = self.rows(query, texts)
        scores = np.empty(len(rows), np.float32)
        run_batched(self.run, rows, scores, self.settings, self.workers)
        return scores

    def rows(self, query: str, texts: Sequence[str]) -> list[Row]:
        """The pairs as the model reads them; the query is tokenised once."""
        return [Row(*found) for found in pairs(self.tokens, query, texts, self.manifest.max_tokens)]

    def fits(self, query: str, text: str) -> bool:
        """Whether a pair is read to its end, rather than cut."""
        room = self.manifest.max_tokens - 3
        if not (self.tokens.fits(query, room) and self.tokens.fits(text, room)):
            return False
        return len(self.tokens.of(query, room)) + len(self.tokens.of(text, room)) <= room

    def reads_at_most(self, query: str) -> int:
        """How many tokens are read of a query that is too long beside any text, fewer beside a long one.

        0 where a short enough text leaves room for all of it.
        """
        return self.tokens.filled(query, self.manifest.max_tokens - 3)

    def request_read(self, query: str, texts: Sequence[str]) -> list[int]:
        """How many tokens of the query are read beside each text; all that it has where a pair is not cut.

        After the texts were scored this costs little: their tokens are still kept.
        """
        room = self.manifest.max_tokens - 3
        own = len(self.tokens.of(query, room))
        if own <= room // 2:
            return [own] * len(texts)
        return [kept_of_first(own, len(ids), room) for ids in self.tokens.of_all(texts, room)]

    def room_beside(self, query: str) -> int:
        """How many tokens of a long text are read beside this query."""
        room = self.manifest.max_tokens - 3
        return max(room - len(self.tokens.of(query, room)), room // 2)

    def cut_texts(self, query: str, texts: Sequence[str]) -> list[int]:
        """Positions of the texts that are not read to their end beside this query.

        After the texts were scored this costs little: their tokens are still kept.
        """
        room = self.manifest.max_tokens - 3
        left = room - len(self.tokens.of(query, room))
        filled = [n for n, ids in enumerate(self.tokens.of_all(texts, room)) if len(ids) >= left]
        return [position for position in filled if not self.fits(query, texts[position])]

    def run(self, rows: Sequence[Row], length: int) -> NDArray[np.float32]:
        """Logits (n,) of rows in one batch, each padded to `length` tokens."""
        return super().run(rows, length).reshape(-1)

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        """Calibrated relevance in (0, 1): sigmoid(logit / temperature), float32 of the same shape."""
        return sigmoid(logits / self.manifest.temperature)


def open_tokenizer(folder: Path, manifest: Manifest, settings: RuntimeSettings) -> TokenIds:
    """The tokenizer of a model folder."""
    data = read_file(folder, manifest, TOKENIZER)
    with failures_as(lambda error: CorruptModel(folder / TOKENIZER, f"cannot be loaded: {in_brief(error)}")):
        return TokenIds(data, settings.cached_tokens, own_ends=manifest.reading is not UNSET)


def _try_out(network: _Network, folder: Path) -> None:
    """Runs the last token of the vocabulary once: a graph for another vocabulary would fail some day."""
    tokens, manifest = network.tokens, network.manifest
    graph = place_of(folder, manifest, MODEL)
    ids = np.array([tokens.start, tokens.size - 1, tokens.separator], np.int64)
    with failures_as(lambda error: CorruptModel(graph, f"does not fit its tokenizer: {in_brief(error)}")):
        found = network.run([Row(ids, np.zeros_like(ids))], len(ids)).shape
    expected = (1, manifest.dimensions) if manifest.kind == "encoder" else (1,)
    if found != expected:
        raise CorruptModel(graph, f"answers numbers of shape {found}, and not {expected}")


def sigmoid(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 / (1 + exp(−x)) without overflow, float32 of the same shape."""
    return (0.5 * (1.0 + np.tanh(0.5 * np.asarray(x, np.float64)))).astype(np.float32)
