"""Ranks every judged request by every profile, and computes the figures of each subset."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec
import numpy as np

from kitpick_evaluation.answer import Answer, Ranker, check_answer
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidDataset
from kitpick_evaluation.facets import FACETS, Facets
from kitpick_evaluation.metrics import CUTOFFS, Figures, check_cutoffs, figure_names, score_rankings
from kitpick_evaluation.report import MEAN, ReportRow
from kitpick_evaluation.significance import RESAMPLES, Float64, mean_intervals

Observer = Callable[[str, JudgedQuery, Answer], None]
"""Receives every answer as it comes: profile, request, answer. Traces are not kept otherwise."""


class Sampling(msgspec.Struct, frozen=True):
    """Cut-offs of the figures, and the resampling of their intervals."""

    cutoffs: tuple[int, ...] = CUTOFFS
    seed: int = 0
    resamples: int = RESAMPLES


_DEFAULT = Sampling()


class Evaluation(msgspec.Struct, frozen=True):
    """Rows of a report, and the figures of every request behind them."""

    rows: tuple[ReportRow, ...]
    figures: Mapping[str, Mapping[str, Figures]]
    """Profile → query id → figures."""
    tokens: Mapping[str, float]
    """Profile → mean tokens of the answers."""


def evaluate(
    queries: Sequence[JudgedQuery],
    rankers: Mapping[str, Ranker],
    facets: Facets,
    *,
    sampling: Sampling = _DEFAULT,
    observe: Observer = lambda *_: None,
    advance: Callable[[int], None] = lambda _: None,
) -> Evaluation:
    """Figures of every ranker on every subset, and their mean over subsets where there are several.

    Args:
        queries: judged requests, each with relevant APIs; these must be in the catalog that the rankers
            search.
        rankers: profile name → ranker. All profiles answer one request before the next is asked, so that
            whatever the profiles share (query vector, cross-encoder scores) is computed once.
        facets: the ways to divide the requests.
        sampling: the values of k, the largest of which is the depth asked of a ranker, and the bootstrap.
        observe: receives every answer.
        advance: called with the number of requests done since the last call.

    Raises:
        InvalidCutoff: see `check_cutoffs`.
        InvalidDataset: a subset has the name of the mean over subsets.
        InvalidRanking: an answer that `check_answer` refuses.
    """
    cutoffs = check_cutoffs(sampling.cutoffs)
    if any(query.subset == MEAN for query in queries):
        raise InvalidDataset(f"a subset is called {MEAN!r}, as the mean over subsets is: rename it")
    rankings: dict[str, dict[str, Sequence[str]]] = {profile: {} for profile in rankers}
    tokens = dict.fromkeys(rankers, 0)
    for query in queries:
        for profile, ranker in rankers.items():
            answer = check_answer(query.id, ranker(query, max(cutoffs)))
            rankings[profile][query.id] = answer.ids
            tokens[profile] += answer.tokens
            observe(profile, query, answer)
        advance(1)
    figures = {profile: score_rankings(queries, found, cutoffs) for profile, found in rankings.items()}
    rows = (row for profile in rankers for row in _rows(profile, queries, figures[profile], facets, sampling))
    return Evaluation(tuple(rows), figures, {name: total / len(queries) for name, total in tokens.items()})


def _rows(
    profile: str,
    queries: Sequence[JudgedQuery],
    figures: Mapping[str, Figures],
    facets: Facets,
    sampling: Sampling,
) -> Iterator[ReportRow]:
    names = figure_names(check_cutoffs(sampling.cutoffs))
    groups: dict[str, defaultdict[str, list[list[float]]]] = {facet: defaultdict(list) for facet in FACETS}
    for query in queries:
        values = [figures[query.id][name] for name in names]
        for facet, subsets in facets.of(query).items():
            for subset in subsets:
                groups[facet][subset].append(values)
    for facet, subsets_of in groups.items():
        own = facet == "subset"  # the dataset's own come as they are, all others by name
        ordered = subsets_of.items() if own else sorted(subsets_of.items())
        members = {name: np.array(values) for name, values in ordered}
        for subset, group in members.items():
            yield _row(facet, subset, profile, names, [group], sampling)
        if own and len(members) > 1:
            yield _row(facet, MEAN, profile, names, list(members.values()), sampling)


def _row(
    facet: str, subset: str, profile: str, names: Sequence[str], groups: Sequence[Float64], sampling: Sampling
) -> ReportRow:
    means = np.mean([group.mean(axis=0) for group in groups], axis=0)
    intervals = mean_intervals(groups, sampling.seed, sampling.resamples)
    return ReportRow(
        subset=subset,
        profile=profile,
        queries=sum(len(group) for group in groups),
        figures=dict(zip(names, means.tolist(), strict=True)),
        intervals={name: (low, high) for name, (low, high) in zip(names, intervals.tolist(), strict=True)},
        facet=facet,
    )
