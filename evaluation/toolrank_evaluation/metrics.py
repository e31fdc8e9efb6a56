"""Ranking measures per query. NDCG, recall, MRR and MAP come from ir-measures (trec_eval); Comp is ours."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.errors import EvaluationError, MissingExtra

CUTOFFS = (3, 5, 10)
Figures = dict[str, float]


def comp(ranking: Sequence[str], relevant: frozenset[str], k: int) -> float:
    """Comp@k: 1 when *every* relevant API stands among the first k, otherwise 0 (COLT, CIKM 2024)."""
    return float(relevant <= set(ranking[:k]))


def score_rankings(
    queries: Sequence[JudgedQuery], rankings: Mapping[str, Sequence[str]], cutoffs: Sequence[int] = CUTOFFS
) -> dict[str, Figures]:
    """Figures of every query, by query id: `ndcg@k`, `recall@k`, `comp@k` for each k, `mrr`, `map`.

    Args:
        queries: the judged requests.
        rankings: ids best first for each query id; a missing query counts as an empty ranking.
        cutoffs: the values of k.

    Raises:
        EvaluationError: a ranking names an API twice.
        MissingExtra: ir-measures is not installed.
    """
    figures: dict[str, Figures] = {}
    for query in queries:
        ranking = rankings.get(query.id, ())
        if len(set(ranking)) != len(ranking):
            raise EvaluationError(f"query {query.id!r}: the ranking names an API twice")
        figures[query.id] = {f"comp@{k}": comp(ranking, query.relevant, k) for k in cutoffs}
    for query_id, name, value in _library_figures(queries, rankings, cutoffs):
        figures[query_id][name] = value
    return figures


def mean(figures: Sequence[Figures]) -> Figures:
    """Arithmetic mean of each figure."""
    return {name: sum(f[name] for f in figures) / len(figures) for name in figures[0]} if figures else {}


def _library_figures(
    queries: Sequence[JudgedQuery], rankings: Mapping[str, Sequence[str]], cutoffs: Sequence[int]
) -> Iterator[tuple[str, str, float]]:
    measures = _measures(cutoffs)
    qrels = {query.id: dict.fromkeys(query.relevant, 1) for query in queries}
    # Descending distinct scores state the order without ties; an empty run is left out by the library.
    run = {query.id: _descending(rankings.get(query.id, ())) for query in queries}
    for query in queries:
        if not run[query.id]:
            yield from ((query.id, name, 0.0) for name in measures.values())
    import ir_measures

    for metric in ir_measures.iter_calc(list(measures), qrels, {q: r for q, r in run.items() if r}):
        if run[metric.query_id]:  # the library also reports zeros for judged queries without a run
            yield metric.query_id, measures[metric.measure], float(metric.value)


def _descending(ranking: Sequence[str]) -> dict[str, float]:
    return {api: float(len(ranking) - position) for position, api in enumerate(ranking)}


def _measures(cutoffs: Sequence[int]) -> dict[Any, str]:
    try:
        from ir_measures import AP, RR, R, nDCG
    except ImportError as error:
        raise MissingExtra from error
    named = {nDCG @ k: f"ndcg@{k}" for k in cutoffs} | {R @ k: f"recall@{k}" for k in cutoffs}
    return named | {RR: "mrr", AP: "map"}
