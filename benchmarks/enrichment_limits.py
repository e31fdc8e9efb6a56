"""What sample requests could add on ToolLens at most, and which other ways of letting them vote were tried.

Everything is done with vectors and word scores that are computed once, over all requests, on top of one
ranking: the cosine with the document and 0.7 of its score by words, each over its spread among the APIs of a
request. `written` are the sample requests of `datasets/enriched/toollens.jsonl`, `situations` six more for
each API (`toollens-situations.jsonl`): people who describe their situation, some with several needs, written
from the definitions alone. `real` are requests of the benchmark itself, four or ten of each API and never the
one that is asked: nobody can write what is nearer to it. They show what is the most to be had, and ship
nowhere. Recall@5 of all requests, and of the halves by a digest of their ids: ways are chosen on `a`.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from enrichment import WRITTEN, opened
from halves import half_of
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from kitpick.cli.progress import progress
from kitpick.settings import Settings
from kitpick_engines.contract import Filter, SearchRequest, Vector
from kitpick_evaluation.datasets.published import open_dataset

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
NAME = "toollens"
WORDS = 0.7
"""Weight of the order by words beside that by vectors, chosen on half `a`."""
CUTOFF = 5
_CLAUSE = re.compile(r"[.?!;:]\s+|,\s+(?:(?:and|but|so|also|then)\s+)?|\s+(?:and|then)\s+")
_LEAST_WORDS, _MOST_CLAUSES = 3, 8
Scores = NDArray[np.float64]
"""Of requests by APIs."""
Encode = Callable[[Sequence[str]], NDArray[np.float32]]


class Asked(NamedTuple):
    """Requests over a catalog, with what their rankings are made of."""

    documents: tuple[str, ...]
    """Ids."""
    categories: tuple[str, ...]
    texts: tuple[str, ...]
    relevant: tuple[frozenset[int], ...]
    """Columns of what each request needs."""
    first: NDArray[np.bool_]
    """Whether it is of half `a`."""
    vectors: NDArray[np.float32]
    base: Scores


def main() -> None:
    """Prints the table and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(intents=Path(folder) / "none", enriched=Path(folder) / "none")
        asked, encode = read(arguments.data, settings)
    table = Table("what votes", "recall@5", "half a", "half b")
    figures: dict[str, float] = {}
    for name, scores in ways(asked, encode):
        found = recall(scores, asked.relevant)
        parts = (found, found[asked.first], found[~asked.first])
        table.add_row(name, *(f"{100 * float(part.mean()):.1f}" for part in parts))
        figures[name] = round(100 * float(found.mean()), 2)
    Console().print(table)
    print(json.dumps(figures))


def read(data: Path, settings: Settings) -> tuple[Asked, Encode]:
    """All requests of ToolLens, and the encoder of their texts."""
    dataset = open_dataset(NAME, data)
    with opened(dataset, settings) as catalog:
        catalog.ingest(dataset.source, progress=progress())
        index, _ = catalog.live()
        items = list(catalog.engine.documents(index))
        column = {item.document.id: place for place, item in enumerate(items)}
        words = np.zeros((len(dataset.queries), len(items)))
        for row, query in zip(words, dataset.queries, strict=True):
            for found in catalog.engine.search(SearchRequest(query.text, None, len(items), Filter())):
                row[column[found.id]] = found.lexical.score if found.lexical else 0.0
        encode = partial(_encoded, catalog.models.queries.vectors)
        vectors = encode([query.text for query in dataset.queries])
        documents = np.stack([item.vector for item in items])
    asked = Asked(
        documents=tuple(column),
        categories=tuple(item.document.category for item in items),
        texts=tuple(query.text for query in dataset.queries),
        relevant=tuple(frozenset(column[each] for each in query.relevant) for query in dataset.queries),
        first=np.array([half_of(query.id) == "a" for query in dataset.queries]),
        vectors=vectors,
        base=spread(vectors @ documents.T) + WORDS * spread(words),
    )
    return asked, encode


def _encoded(
    encode: Callable[[tuple[str, ...]], Sequence[Vector]], texts: Sequence[str]
) -> NDArray[np.float32]:
    return np.stack(encode(tuple(texts)))


def ways(asked: Asked, encode: Encode) -> Iterator[tuple[str, Scores]]:
    """Each way of letting samples vote, with the scores it comes to."""
    yield "nothing", asked.base
    written, more = samples("toollens.jsonl", asked), samples("toollens-situations.jsonl", asked)
    both = [(*one, *other) for one, other in zip(written, more, strict=True)]
    known = {name: _Samples(texts, encode) for name, texts in (
        ("written", written), ("situations", more), ("both", both))}  # fmt: skip
    for name, held in known.items():
        for how, nearness in held.nearness(asked.vectors).items():
            yield f"{name}, {how}", asked.base + spread(nearness)
            yield f"{name}, {how}, by places", by_places(asked.base) + by_places(nearness) / 2
    usage = known["both"].nearness(asked.vectors)["mean"]
    voted = asked.base + spread(usage)
    yield "both, and the best of the category", voted + spread(_of_groups(usage, asked.categories))
    clauses = [clauses_of(text) for text in asked.texts]
    parts = known["both"].nearness(encode([each for one in clauses for each in one]))["nearest"]
    starts = np.cumsum([0, *map(len, clauses)])[:-1]
    yield "both, clause by clause: nearest", voted + spread(np.maximum.reduceat(parts, starts, axis=0))
    counts = np.array([len(one) for one in clauses])[:, None]
    yield "both, clause by clause: mean", voted + spread(np.add.reduceat(parts, starts, axis=0) / counts)
    for most in (4, 10):
        nearest = real(asked, most)
        yield f"real, {most} of each, alone", nearest
        yield f"real, {most} of each", asked.base + spread(nearest)


class _Samples:
    """Sample requests of each API, at least one of each, as vectors."""

    def __init__(self, texts: Sequence[Sequence[str]], encode: Encode) -> None:
        self._vectors = encode([text for of_one in texts for text in of_one])
        self._counts = np.array([len(of_one) for of_one in texts])
        self._starts = np.cumsum([0, *self._counts])[:-1]

    def nearness(self, vectors: NDArray[np.float32]) -> dict[str, Scores]:
        """Cosines with the nearest sample of each API, the mean of its best two, and the mean of all."""
        cosines = (vectors @ self._vectors.T).astype(np.float64)
        best = np.stack(
            [np.sort(part, axis=1)[:, -2:].mean(axis=1) for part in self._parted(cosines)], axis=1
        )
        return {
            "nearest": np.maximum.reduceat(cosines, self._starts, axis=1),
            "best two": best,
            "mean": np.add.reduceat(cosines, self._starts, axis=1) / self._counts,
        }

    def _parted(self, cosines: Scores) -> list[Scores]:
        return np.split(cosines, self._starts[1:], axis=1)


def samples(file: str, asked: Asked) -> list[tuple[str, ...]]:
    """Sample requests of a file, in the order of the catalog."""
    rows = map(json.loads, (WRITTEN / file).read_text("utf-8").splitlines())
    known = {row["id"]: tuple(row["requests"]) for row in rows}
    return [known[each.rpartition("/")[2]] for each in asked.documents]


def real(asked: Asked, most: int) -> Scores:
    """Cosine with the nearest of so many other requests that need the same API.

    Where there are none, the mean of the other APIs: they speak neither for it nor against it.
    """
    draw = np.random.default_rng(0)
    nearest = np.full(asked.base.shape, np.nan)
    for column in range(len(asked.documents)):
        using = [row for row, needed in enumerate(asked.relevant) if column in needed]
        drawn = draw.permutation(np.array(using, dtype=int))[: most + 1]
        if drawn.size < 2:
            continue
        cosines = (asked.vectors @ asked.vectors[drawn].T).astype(np.float64)
        compared = np.ones(cosines.shape, dtype=bool)
        compared[:, most:] = False  # the last one is there for those that are among the others themselves
        compared[drawn, most:] = True
        compared[drawn, np.arange(drawn.size)] = False
        nearest[:, column] = np.where(compared, cosines, -1.0).max(axis=1)
    means = np.nanmean(nearest, axis=1, keepdims=True)
    return np.where(np.isnan(nearest), means, nearest)


def clauses_of(text: str) -> list[str]:
    """Parts of a request that may ask for something each; the whole where it has no parts."""
    parts = [part.strip() for part in _CLAUSE.split(text)]
    return [part for part in parts if len(part.split()) >= _LEAST_WORDS][:_MOST_CLAUSES] or [text]


def _of_groups(scores: Scores, groups: Sequence[str]) -> Scores:
    """For each API the best score within its group."""
    found = np.empty_like(scores)
    names = np.array(groups)
    for name in set(groups):
        found[:, names == name] = scores[:, names == name].max(axis=1, keepdims=True)
    return found


def spread(scores: NDArray[np.floating]) -> Scores:
    """Scores of each request over their spread among the APIs."""
    values = np.asarray(scores, dtype=np.float64)
    return (values - values.mean(axis=1, keepdims=True)) / (values.std(axis=1, keepdims=True) + 1e-9)


def by_places(scores: Scores) -> Scores:
    """What the places in an order are worth, as in the product: 11 ÷ (10 + place)."""
    return 11.0 / (11.0 + _places(scores))


def _places(scores: Scores) -> NDArray[np.int64]:
    """Places from 0 in each row."""
    order = np.argsort(-scores, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(scores.shape[1])[None, :], axis=1)
    return places


def recall(scores: Scores, relevant: Sequence[frozenset[int]]) -> NDArray[np.float64]:
    """Share of what each request needs among its first five."""
    first = _places(scores) < CUTOFF
    return np.array([first[row, list(needed)].mean() for row, needed in enumerate(relevant)])


if __name__ == "__main__":
    main()
