"""Does NNN decoding find better sets than ranking, does exactness matter, does a λ1 per query matter?

Untrained vectors of the shipped encoder; ToolBench dev and ToolLens test; each request is decoded over its
256 nearest APIs (`benchmarks/nnn` shows that three rounds of 64 find the support of the whole catalog).
Every parameter is chosen by two-fold cross-fitting: the requests are halved by a digest of their ids, and
what is reported of one half was chosen on the other, by R@5 + Comp@5. `oracle` alone sees the answers: it
takes the best λ1 of the grid for every request, and shows the headroom. *Hybrid rows* are those of
`kitpick_rescorers.nnn.corpus`, λ2 = 1. Differences are paired, with 95 % bootstrap intervals: to dense
retrieval, and to one λ1 for all.

`--dataset NAME` (repeatable), `--limit N` requests of each, `--data FOLDER`, `--encoder FOLDER` (an exported
model in place of the shipped one), `--vectors FOLDER` (its vectors, made elsewhere: NAME-apis.npy and
NAME-requests.npy, rows in the order of the data).
"""
# needs: compare  # noqa: ERA001

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from mmr import mmr
from nnn.fista import solve_fista
from nnn.path import Path as PenaltyPath
from nnn.path import solve_path
from nnn.vectors import encoded
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
from shared_data import DATA

from kitpick_engines.document import ApiDocument
from kitpick_engines.text import retrieval_text
from kitpick_evaluation.dataset import select
from kitpick_evaluation.datasets.published import open_dataset
from kitpick_rescorers.nnn import (
    Hybrid,
    Lexicon,
    NnnProblem,
    Solution,
    ranking,
)

NEAREST = 256
DEPTH = 5
LOWEST = 0.05
GRID = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.5)
SHARES = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
SHARES_DENSE = (0.5, 0.7, 0.85)
RIDGES = (0.1, 1.0, 3.0)
ONE = "one λ1 for all"
FIGURES = ("R@3", "R@5", "C@3", "C@5")
Floats = NDArray[np.float64]


def main() -> None:
    """Prints one table a dataset and, last, one JSON object."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--dataset", action="append")
    parser.add_argument("--limit", type=int)
    parser.add_argument("--encoder", default="minilm-l6")
    parser.add_argument("--vectors", type=Path)
    arguments = parser.parse_args()
    figures: dict[str, Any] = {}
    for name in arguments.dataset or ["toolbench", "toollens"]:
        requests, folds = read(name, arguments)
        columns = ("Δ R@5 to dense", "Δ C@5", f"Δ R@5 to {ONE}", "Δ C@5", "chosen on the other half")
        table = Table("decoding", *FIGURES, *columns, title=name)
        references: dict[str, Floats] = {}
        for method, (values, chosen) in results(requests, folds).items():
            figures |= {
                f"{name}.{method}.{key}": round(float(v), 4)
                for key, v in zip(FIGURES, values.mean(0), strict=True)
            }
            if method in {"dense", ONE}:
                references[method] = values
            differences = [
                interval(values[:, i] - references[to][:, i]) if to in references and to != method else ""
                for to in ("dense", ONE)
                for i in (1, 3)
            ]
            table.add_row(method, *(f"{100 * v:.1f}" for v in values.mean(0)), *differences, chosen)
        Console(width=200).print(table)
    print(json.dumps(figures))


@dataclass(frozen=True, eq=False)
class Request:
    """One request over its nearest APIs, which stand in order of similarity."""

    vectors: NDArray[np.float32]
    query: Floats
    lexicon: Lexicon
    relevant: NDArray[np.bool_]
    """Which of them are right (m,)."""
    wanted: int
    """How many are right in the whole catalog."""

    @property
    def similarities(self) -> Floats:
        """Cosines with the query (m,)."""
        return self.vectors.astype(np.float64) @ self.query

    def hybrid(self, weight: float) -> tuple[Floats, Floats]:
        """Rows and query of which this share is dense."""
        mixed = Hybrid.of(self.vectors, self.query, self.lexicon, weight)
        return mixed.rows, mixed.query

    def judge(self, order: Sequence[int] | NDArray[np.intp]) -> Floats:
        """R@3, R@5, C@3, C@5 of an order."""
        found = [int(self.relevant[list(order[:k])].sum()) for k in (3, DEPTH)]
        return np.array([n / self.wanted for n in found] + [float(n == self.wanted) for n in found])


def read(name: str, arguments: argparse.Namespace) -> tuple[list[Request], NDArray[np.bool_]]:
    """The requests of a dataset, and which half each belongs to."""
    dataset = open_dataset(name, arguments.data)
    documents = [item for item in dataset.source.read() if isinstance(item, ApiDocument)]
    texts = [retrieval_text(document) for document in documents]
    chosen = select(dataset.queries, arguments.limit)
    if arguments.vectors:
        rows = np.load(arguments.vectors / f"{name}-apis.npy")
        queries = np.load(arguments.vectors / f"{name}-requests.npy")
    else:
        rows = encoded(f"{name}-apis", texts, arguments.encoder)
        queries = encoded(f"{name}-requests", [query.text for query in chosen], arguments.encoder)
    ids = np.array([document.id for document in documents])
    requests = []
    for query, vector in zip(chosen, queries, strict=True):
        near = np.argsort(-(rows @ vector), kind="stable")[:NEAREST]
        lexicon = Lexicon.of([texts[row] for row in near], query.text)
        relevant = np.isin(ids[near], list(query.relevant))
        exact = vector.astype(np.float64)
        requests.append(Request(rows[near], exact, lexicon, relevant, len(query.relevant)))
    halves = [hashlib.blake2b(query.id.encode(), digest_size=1).digest()[0] % 2 == 1 for query in chosen]
    return requests, np.array(halves)


def results(requests: list[Request], folds: NDArray[np.bool_]) -> dict[str, tuple[Floats, str]]:
    """Figures of every request (n, 4) by every way of decoding, and what was chosen for it."""
    tried = {name: [[] for _ in settings] for name, (settings, _) in METHODS.items()}
    for request in requests:
        paths = {l2: solve_path(NnnProblem(request.vectors, request.query, LOWEST, l2)) for l2 in RIDGES}
        paths |= {-w: solve_path(NnnProblem(*request.hybrid(w), LOWEST, 1.0)) for w in SHARES_DENSE}
        for name, (settings, order) in METHODS.items():
            for place, setting in enumerate(settings):
                tried[name][place].append(request.judge(order(request, paths, setting)))
    judged = {name: np.array(values) for name, values in tried.items()}  # (settings, n, 4)
    found = {"dense": (judged["dense"][0], "")}
    for name, values in judged.items():
        found[name] = cross_fitted(values, folds, METHODS[name][0])
    picks = [best(judged[ONE], folds == other) for other in (True, False)]
    found |= dict(fixed_steps(requests, folds, picks))
    found["λ1 by an oracle"] = (oracle(judged[ONE], folds, picks), "best of the grid")
    return found


def best(values: Floats, where: NDArray[np.bool_]) -> int:
    """The setting with the largest R@5 + C@5 on these requests."""
    return int(values[:, where][:, :, [1, 3]].sum(axis=2).mean(axis=1).argmax())


def cross_fitted(values: Floats, folds: NDArray[np.bool_], settings: Sequence[Any]) -> tuple[Floats, str]:
    """Figures of each half under what was best on the other."""
    one, other = best(values, folds), best(values, ~folds)
    result = np.where(folds[:, None], values[other], values[one])
    names = dict.fromkeys(str(settings[place]) for place in (one, other) if settings[place] is not None)
    return result, " | ".join(names)


def fixed_steps(
    requests: list[Request], folds: NDArray[np.bool_], picks: Sequence[int]
) -> Iterator[tuple[str, tuple[Floats, str]]]:
    """FISTA stopped early, at the penalties chosen for the exact answer."""
    settings = METHODS[ONE][0]
    for steps in (10, 50):
        values = []
        for request, fold in zip(requests, folds, strict=True):
            l2, l1 = settings[picks[1] if fold else picks[0]]
            problem = NnnProblem(request.vectors, request.query, l1, l2)
            solution = solve_fista(problem, fixed_steps=steps, restart=False)
            values.append(request.judge(ranking(solution, problem, DEPTH)))
        yield f"the same, {steps} FISTA steps", (np.array(values), "as above")


def oracle(values: Floats, folds: NDArray[np.bool_], picks: Sequence[int]) -> Floats:
    """The best λ1 of the grid for every request, at the λ2 chosen for all."""
    settings = METHODS[ONE][0]
    result = np.empty(values.shape[1:])
    for half, pick in ((~folds, picks[0]), (folds, picks[1])):
        same = [place for place, (l2, _) in enumerate(settings) if l2 == settings[pick][0]]
        part = values[same]
        pick_each = part[:, :, [1, 3]].sum(axis=2).argmax(axis=0)
        result[half] = part[pick_each, np.arange(part.shape[1])][half]
    return result


Paths = dict[float, PenaltyPath]
"""By λ2; those of hybrid rows by minus the share that is dense."""
Order = Callable[[Request, Paths, Any], Sequence[int] | NDArray[np.intp]]


def at(path: PenaltyPath, l1: float) -> NDArray[np.intp]:
    """The first of the ranking at a penalty ≥ the path's last."""
    problem = path.problem
    here = NnnProblem(problem.corpus, problem.query, max(l1, LOWEST), problem.l2)
    support, z = path.at(max(l1, LOWEST) - LOWEST)
    residual = problem.query - z @ problem.corpus.exact_rows(support)
    return ranking(Solution(support, z, residual, path.breakpoints[-1].solution.certificate), here, DEPTH)


def joined(path: PenaltyPath) -> Sequence[int]:
    """By order of joining, then by similarity."""
    order = path.order_of_joining().tolist()
    return (order + [row for row in range(NEAREST) if row not in order])[:DEPTH]


METHODS: dict[str, tuple[Sequence[Any], Order]] = {
    "dense": ([None], lambda r, _p, _s: np.arange(DEPTH)),
    "MMR": (
        [0.0, 0.1, 0.2, 0.3, 0.4, 0.5],
        lambda r, _p, diversity: mmr(r.similarities, r.vectors, diversity, DEPTH),
    ),
    ONE: (
        [(l2, l1) for l2 in RIDGES for l1 in GRID],
        lambda _r, paths, s: at(paths[s[0]], s[1]),
    ),
    "λ1 relative to the best": (
        [(l2, share) for l2 in RIDGES for share in SHARES],
        lambda r, paths, s: at(paths[s[0]], s[1] * float(r.similarities[0])),
    ),
    "hybrid rows, ranked": (
        SHARES_DENSE,
        lambda r, _p, w: np.argsort(-np.dot(*r.hybrid(w)), kind="stable")[:DEPTH],
    ),
    "hybrid rows, decoded": (
        [(w, l1) for w in SHARES_DENSE for l1 in GRID],
        lambda _r, paths, s: at(paths[-s[0]], s[1]),
    ),
    "order of joining": (list(RIDGES), lambda _r, paths, l2: joined(paths[l2])),
}
"""Settings (λ2 first) and the order that each gives."""


def interval(differences: Floats, resamples: int = 2_000) -> str:
    """Mean of paired differences in points, with a 95 % bootstrap interval."""
    rng = np.random.default_rng(0)
    picks = rng.integers(len(differences), size=(resamples, len(differences)))
    low, high = 100 * np.quantile(differences[picks].mean(axis=1), (0.025, 0.975))
    return f"{100 * differences.mean():+.1f} ({low:+.1f} to {high:+.1f})"


if __name__ == "__main__":
    main()
