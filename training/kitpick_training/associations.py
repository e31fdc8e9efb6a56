"""Learns which words of requests stand for which words of tools, for `kitpick_rescorers.associations`.

    python -m kitpick_training.associations --data ../shared/data FILE

Model 1 of Brown et al. (1993) by expectation and maximisation, over pairs of a request and each text that
serves it. A word of a request comes from a word of the text, by its rarity, or from none of them.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_engines.text import rerank_text
from kitpick_rescorers.associations import packed
from kitpick_rescorers.features import stems
from kitpick_training.data.readers import READERS
from kitpick_training.data.split import take_split

CATALOGS = ("written", "kits", "servers-2026")
"""Our own requests, of which the training split is taken."""

Pair = tuple[frozenset[str], frozenset[str]]
"""Stems of a request, and of a text that serves it."""
Rows = dict[str, tuple[float, Mapping[str, float]]]
"""Word of texts → its weight; and words of requests with their ratios."""


class AssociationRecipe(msgspec.Struct, frozen=True):
    """How associations are learned. Chosen on validation sets; none of them matters much."""

    rounds: int = 3
    """Of expectation and maximisation."""
    least: int = 2
    """Requests, or texts, that hold a word: rarer ones are left out."""
    discount: float = 0.3
    """Taken off what each pair of words was counted, so that what happened once counts little."""
    prior: float = 1.0
    """Added to the counts of each word of texts, as if it had brought something else so often."""
    nothing: float = 0.1
    """Share of the words of requests that come from no word of the text."""
    share: float = 0.1
    """How much a ratio of a word counts: r = share · P(said | word) / P(said)."""
    rarest: float = 1e-5
    """P(said) is taken for this at least."""
    kept: float = 0.005
    """P(said | word) of what is kept at least."""
    most: int = 20
    """Words of requests that are kept of each word of texts."""


class _Entries(NamedTuple):
    """Every word of every request beside every word of its text: arrays (m,), a run for each of the first."""

    said: NDArray[np.int64]
    word: NDArray[np.int64]
    share: NDArray[np.float64]
    """Of the words of that text: their sum is 1 over a run."""
    lengths: NDArray[np.int64]
    """Of the runs."""


def learn(pairs: Sequence[Pair], recipe: AssociationRecipe) -> Rows:
    """The associations of the words of these pairs.

    Raises:
        ValueError: no word of requests, or none of texts, stands in `least` of them.
    """
    said = _numbered((request for request, _ in pairs), recipe.least)
    words = _numbered((text for _, text in pairs), recipe.least)
    if not said or not words:
        raise ValueError(f"no word stands in {recipe.least} of {len(pairs)} pairs")
    frequency = Counter(word for _, text in pairs for word in text)
    weights = {word: math.log(len(pairs) / frequency[word]) for word in words}
    entries = _entries(pairs, said, words, weights, recipe.nothing)
    pair, inverse = np.unique(entries.said * (len(words) + 1) + entries.word, return_inverse=True)
    each, word = np.divmod(pair, len(words) + 1)
    best = _best(_maximised(entries, inverse, word, recipe), word, recipe)
    ratios = _ratios(pairs, said, recipe)
    rows: dict[str, dict[str, float]] = {name: {} for name in words}
    names, own = list(said), list(words)
    for number, probability in best:
        name = names[each[number] - 1]
        rows[own[word[number] - 1]][name] = probability * ratios[name]
    return {name: (weights[name], row) for name, row in rows.items()}


def _numbered(texts: Iterator[frozenset[str]], least: int) -> dict[str, int]:
    """The words that stand in so many texts, numbered from 1 on by alphabet; 0 is none of them.

    Numbers are no words: what is said with one says nothing of others.
    """
    counted = Counter(word for text in texts for word in text if not word.isdecimal())
    return {word: n for n, word in enumerate(sorted(w for w, c in counted.items() if c >= least), 1)}


def _entries(
    pairs: Sequence[Pair],
    said: Mapping[str, int],
    words: Mapping[str, int],
    weights: Mapping[str, float],
    nothing: float,
) -> _Entries:
    runs: list[tuple[int, NDArray[np.int64], NDArray[np.float64]]] = []
    for request, text in pairs:
        held = sorted(text & words.keys())
        shares = np.array([weights[word] for word in held])
        shares = np.concatenate([[nothing], (1.0 - nothing) * shares / (shares.sum() or 1.0)])
        numbers = np.array([0, *(words[word] for word in held)])
        runs += [(said[each], numbers, shares) for each in sorted(request & said.keys())]
    lengths = np.array([len(numbers) for _, numbers, _ in runs])
    return _Entries(
        np.repeat([each for each, _, _ in runs], lengths),
        np.concatenate([numbers for _, numbers, _ in runs]),
        np.concatenate([shares for _, _, shares in runs]),
        lengths,
    )


def _maximised(
    entries: _Entries, inverse: NDArray[np.intp], word: NDArray[np.int64], recipe: AssociationRecipe
) -> NDArray[np.float64]:
    """P(said | word) of each different pair of words.

    Args:
        entries: all of them.
        inverse: the pair of words that each entry is, (m,).
        word: of the texts, by pair.
        recipe: rounds, discount and prior.
    """
    starts = np.concatenate([[0], np.cumsum(entries.lengths)[:-1]])
    probabilities = _normalised(_summed(entries.share, inverse), word, recipe.prior)
    for _ in range(recipe.rounds):
        brought = probabilities[inverse] * entries.share
        whole = np.maximum(np.add.reduceat(brought, starts), np.finfo(float).tiny)
        counted = _summed(brought / np.repeat(whole, entries.lengths), inverse)
        probabilities = _normalised(np.maximum(counted - recipe.discount, 0.0), word, recipe.prior)
    return probabilities


def _summed(values: NDArray[np.float64], of: NDArray[np.intp]) -> NDArray[np.float64]:
    """The sum of the values of each number."""
    sums: NDArray[np.float64] = np.bincount(of, weights=values).astype(np.float64)
    return sums


def _normalised(counts: NDArray[np.float64], word: NDArray[np.int64], prior: float) -> NDArray[np.float64]:
    wholes = _summed(counts, word) + prior
    shares: NDArray[np.float64] = counts / np.maximum(wholes[word], np.finfo(float).tiny)
    return shares


def _ratios(pairs: Sequence[Pair], said: Mapping[str, int], recipe: AssociationRecipe) -> dict[str, float]:
    """What turns P(said | word) into a ratio, by word of requests."""
    counted = Counter(word for request, _ in pairs for word in request)
    whole = counted.total()
    return {word: recipe.share / max(counted[word] / whole, recipe.rarest) for word in said}


def _best(
    probabilities: NDArray[np.float64], word: NDArray[np.int64], recipe: AssociationRecipe
) -> Iterator[tuple[int, float]]:
    """Numbers of the pairs that are kept, with their probabilities: the best of each word."""
    counted: Counter[int] = Counter()
    for number in np.argsort(-probabilities, kind="stable").tolist():
        of = int(word[number])
        if of and probabilities[number] >= recipe.kept and counted[of] < recipe.most:
            counted[of] += 1
            yield number, float(probabilities[number])


def pairs_of(catalogs: Sequence[str], data: Path) -> list[Pair]:
    """Requests of the training splits, each with every text that serves it."""
    pairs: list[Pair] = []
    for name in catalogs:
        catalog = take_split(READERS[name](data), "train")
        texts = {id_: stems(rerank_text(document)) for id_, document in catalog.documents.items()}
        for request in catalog.requests:
            pairs += [(stems(request.text), texts[id_]) for id_ in sorted(request.relevant)]
    return [(request, text) for request, text in pairs if request and text]


def main() -> None:
    """Writes the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of the research data")
    parser.add_argument("file", type=Path, help="where the table is written")
    asked = parser.parse_args()
    pairs = pairs_of(CATALOGS, asked.data)
    rows = learn(pairs, AssociationRecipe())
    asked.file.write_bytes(packed(rows))
    held = sum(len(said) for _, said in rows.values())
    print(f"{len(pairs)} pairs: {held} associations of {len(rows)} words, {asked.file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
