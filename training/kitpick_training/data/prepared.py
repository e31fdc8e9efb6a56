"""One split of a catalog as lists are drawn from it: texts by number, siblings, first-stage proposals."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text, retrieval_text
from kitpick_training.data.records import LabelledCatalog

Encode = Callable[[Sequence[str]], NDArray[np.float32]]
RRF_K = 60
_BLOCK = 512


TextOf = Callable[[ApiDocument], str]
NEIGHBOURS = 40
_SAME = 0.6
_LITTLE_WORDS = frozenset([
    "a", "an", "the", "of", "for", "by", "to", "in", "on", "with", "and", "or", "from", "all", "given",
    "specific", "specified", "its", "this",
])  # fmt: skip


def fused_neighbours(
    requests: Sequence[str], texts: Sequence[str], encode: Encode, k: int
) -> NDArray[np.int32]:
    """Indices of the k texts that lexical and dense ranking together put first, int32 (requests, k).

    Reciprocal rank fusion (Cormack et al., SIGIR 2009) of the top 2·k of both; ties by index.
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    k = min(k, len(texts))
    lexical = TfidfVectorizer(sublinear_tf=True, stop_words="english", max_df=0.2, dtype=np.float32)
    try:
        text_rows = lexical.fit_transform(texts)
    except ValueError:  # a handful of texts: every word is in too many of them
        lexical = TfidfVectorizer(dtype=np.float32)
        text_rows = lexical.fit_transform(texts)
    request_rows = lexical.transform(requests)
    text_vectors, request_vectors = encode(texts), encode(requests)
    found = np.empty((len(requests), k), np.int32)
    for start in range(0, len(requests), _BLOCK):
        block = slice(start, start + _BLOCK)
        dense = request_vectors[block] @ text_vectors.T
        words = np.asarray((request_rows[block] @ text_rows.T).todense())
        found[block] = _fused(words, dense, k)
    return found


def _fused(first: NDArray[np.float32], second: NDArray[np.float32], k: int) -> NDArray[np.int32]:
    depth = min(2 * k, first.shape[1])
    points = np.zeros(first.shape, np.float32)
    rows = np.arange(len(first))[:, None]
    for scores in (first, second):
        points[rows, _top(scores, depth)] += 1.0 / (RRF_K + 1 + np.arange(depth, dtype=np.float32))
    return _top(points, k).astype(np.int32)


def _top(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """Columns of the k largest scores per row, best first."""
    some = np.argpartition(-scores, k - 1, axis=1)[:, :k]
    some.sort(axis=1)
    order = np.argsort(-np.take_along_axis(scores, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


class PreparedCatalog:
    """A catalog's documents as numbers 0 … n − 1, with everything that negatives are drawn from.

    Args:
        catalog: one split, see `split.take_split`.
        neighbours: int32 (requests, k), what a first stage proposes for each request.
        text: what a model reads of a document.
    """

    def __init__(
        self, catalog: LabelledCatalog, neighbours: NDArray[np.int32], text: TextOf = rerank_text
    ) -> None:
        self.catalog = catalog
        self.neighbours = neighbours
        self.documents = list(catalog.documents.values())
        self.texts = [text(document) for document in self.documents]
        number = {document.id: i for i, document in enumerate(self.documents)}
        self.relevant = [tuple(number[i] for i in r.relevant) for r in catalog.requests]
        self.offered = [tuple(number[i] for i in r.offered) for r in catalog.requests]
        self.also = [tuple(number[i] for i in r.also) for r in catalog.requests]
        self.alternatives_known = catalog.judged and any(self.also)
        self.titles = [title_words(catalog.titles[document.id]) for document in self.documents]
        self.of_tool: dict[str, list[int]] = defaultdict(list)
        self.of_category: dict[str, list[int]] = defaultdict(list)
        for i, document in enumerate(self.documents):
            self.of_tool[document.tool_key].append(i)
            self.of_category[document.category].append(i)
        self.asks_of_tool: dict[str, list[int]] = defaultdict(list)
        self.asks_of_category: dict[str, list[int]] = defaultdict(list)
        self._index_requests()

    def _index_requests(self) -> None:
        groups: dict[str, list[int]] = defaultdict(list)
        for i, relevant in enumerate(self.relevant):
            document = self.documents[relevant[0]]
            groups[self.catalog.groups[document.id]].append(i)
            self.asks_of_tool[document.tool_key].append(i)
            self.asks_of_category[document.category].append(i)
        self.groups = list(groups.values())
        self.group_weights = list(itertools.accumulate(math.sqrt(len(group)) for group in self.groups))
        """Square root: large providers count more than small ones, but do not drown them."""

    def means_the_same(self, first: int, second: int) -> bool:
        """Whether two documents answer the same request, judged by the words of their titles."""
        a, b = self.titles[first], self.titles[second]
        return len(a & b) >= _SAME * len(a | b)


def title_words(title: str) -> frozenset[str]:
    """Content words without plural s: {"get", "user"} for "Gets all users"."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return frozenset(w[:-1] if w.endswith("s") and len(w) > 3 else w for w in words if w not in _LITTLE_WORDS)


def prepare(
    catalog: LabelledCatalog, encode: Encode, cache: Path | None = None, text: TextOf = rerank_text
) -> PreparedCatalog:
    """Finds the neighbours of every request, or reads them from `cache` when nothing they depend on changed.

    Args:
        catalog: one split.
        encode: unit vectors of texts, float32 (n, d).
        cache: folder for the neighbours of this catalog.
        text: what the model that is trained reads of a document.
    """
    requests = [request.text for request in catalog.requests]
    texts = [retrieval_text(document) for document in catalog.documents.values()]
    kept = cache / f"{catalog.name}-{_digest(requests, texts)}.npy" if cache else None
    if kept and kept.is_file():
        return PreparedCatalog(catalog, np.load(kept), text)
    neighbours = fused_neighbours(requests, texts, encode, NEIGHBOURS)
    if kept:
        kept.parent.mkdir(parents=True, exist_ok=True)
        beside = kept.with_suffix(".part.npy")
        np.save(beside, neighbours)
        beside.replace(kept)
    return PreparedCatalog(catalog, neighbours, text)


def _digest(requests: list[str], texts: list[str]) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for text in (*requests, "\0", *texts):
        digest.update(text.encode("utf-8", "surrogatepass") + b"\0")
    return digest.hexdigest()
