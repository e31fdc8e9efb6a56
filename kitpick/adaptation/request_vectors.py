"""Fits the vectors of requests to judged ones: a matrix for the catalog, and how much vectors count there.

Without scipy or ir-measures `MissingExtra` is raised, for a catalog that cannot be read `EngineError`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick.adaptation.request_fit import (
    FITS,
    MAX_POOL,
    MAX_REQUESTS,
    CrossFit,
    FittedMatrix,
    JudgedVectors,
    choose_left_out,
    cross_fit,
    fit_sureness,
    folds_of,
)
from kitpick_engines.contract import Vector
from kitpick_evaluation.facets import Facets
from kitpick_evaluation.metrics import score_rankings
from kitpick_evaluation.recording import Recorded
from kitpick_ingest.progress import Progress
from kitpick_rescorers.models import Models
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.stages import Learned

LEAST_REQUESTS = 20
"""Fewer of them do not show how requests and documents of a catalog lie to each other."""
COSINES = (0.0, 5.0, 10.0, 20.0, 40.0)
"""Weights of the cosine beside the list ranker that are tried."""
FIGURES = ("ndcg@5", "recall@5")
_HITS = 5
Figures: TypeAlias = NDArray[np.float64]
"""Figures of every request, (n, 2), by the names of `FIGURES`."""
Record: TypeAlias = Callable[[Sequence[RequestMatrix]], Sequence[Recorded]]
"""Records the same requests again, each turned by a matrix of its own."""


class ChosenVectors(msgspec.Struct, frozen=True):
    """What judged requests find most by."""

    profile: Profile
    recorded: Sequence[Recorded]
    """The requests as they are searched, each by a matrix that was fitted without it, if there is one."""
    matrix: RequestMatrix | None
    before: tuple[float, float]
    """Means of `FIGURES` of the profile as it was, in [0, 1]."""
    after: tuple[float, float]
    """The same of the requests that took no part, in no fit and in no choice but that of the penalty."""
    gap: float | None
    """Bound on the error of the matrix, in nats; None without one."""


def choose_vectors(
    plain: Sequence[Recorded],
    again: Record,
    profile: Profile,
    models: Models,
    facets: Facets,
    progress: Progress,
) -> ChosenVectors | None:
    """Chooses a matrix or none, and the weight of the cosine; None where too few requests can take part.

    Both are those by which requests that are left out find most (NDCG@5). `plain` are recorded without a
    matrix; `again` records them with some.
    """
    fitted = fit_matrices(plain, facets, progress)
    if fitted is None:
        return None
    turned = again(fitted.without)
    ways = [(recorded, each) for recorded in (plain, turned) for each in _weighings(profile)]
    figures = []
    with progress.phase("ask", len(ways) * len(plain)) as advance:
        for recorded, each in ways:
            figures.append(_figures(recorded, each, models, advance))
    asked = np.stack(figures)
    folds = folds_of([item.query.text for item in plain])
    best, left_out = choose_left_out(asked[:, :, 0], folds)
    before = asked[0].mean(axis=0)
    after = asked[left_out, np.arange(len(plain))].mean(axis=0)
    if after[0] <= before[0]:  # what is chosen does not hold for requests that are left out
        best, after = 0, before
    recorded, chosen = ways[best]
    chosen = _with_sureness(recorded, chosen, models, folds)
    matrix = fitted.matrix if recorded is turned else None
    return ChosenVectors(
        chosen,
        recorded,
        matrix,
        (float(before[0]), float(before[1])),
        (float(after[0]), float(after[1])),
        None if matrix is None else fitted.gap,
    )


def ranker_last(profile: Profile) -> Learned | None:
    """The list ranker's stage, where it orders last."""
    last = profile.stages[-1] if profile.stages else None
    return last if isinstance(last, Learned) else None


def with_last(profile: Profile, last: Learned) -> Profile:
    """The profile with another last stage."""
    return replace(profile, stages=(*profile.stages[:-1], last))


def _with_sureness(
    recorded: Sequence[Recorded], profile: Profile, models: Models, folds: Sequence[int]
) -> Profile:
    """The profile with probabilities that hold for these requests, where the list ranker's hold less."""
    last = ranker_last(profile)
    if last is None or not last.abstains:
        return profile
    plain = with_last(profile, replace(last, sure_scale=0.0, sure_shift=0.0))
    hits = [
        (score, id_ in item.query.relevant, told, fold)
        for item, fold in zip(recorded, folds, strict=True)
        for answer in (item.answer(plain, models, _HITS),)
        for id_, score, told in zip(answer.ids, answer.scores, answer.probabilities, strict=True)
        if told is not None and not answer.abstained
    ]
    if not hits:
        return plain
    scores, right, told, fold_of = (np.array(column) for column in zip(*hits, strict=True))
    found = fit_sureness(scores, right, told, fold_of.tolist())
    if found is None:
        return plain
    return with_last(profile, replace(last, sure_scale=found[0], sure_shift=found[1]))


def _weighings(profile: Profile) -> list[Profile]:
    """The profile as it is, and, where a list ranker orders last, with each weight of the cosine."""
    last = ranker_last(profile)
    if last is None:
        return [profile]
    weights = dict.fromkeys((last.cosine, *COSINES))
    return [with_last(profile, replace(last, cosine=weight)) for weight in weights]


def _figures(
    recorded: Sequence[Recorded], profile: Profile, models: Models, advance: Callable[[int], None]
) -> Figures:
    """The figures of a profile, whatever it abstains from."""
    ids: dict[str, tuple[str, ...]] = {}
    for item in recorded:
        ids[item.query.id] = item.answer(profile, models, _HITS).ids
        advance(1)
    scored = score_rankings([item.query for item in recorded], ids, (_HITS,))
    return np.array([[scored[item.query.id][name] for name in FIGURES] for item in recorded])


def takes_part(recorded: Sequence[Recorded], facets: Facets) -> int:
    """How many different requests have a right API with a vector."""
    pool = _pool(recorded, facets)
    return len({item.query.text for item in recorded if item.query.relevant & pool.keys()})


class FittedRequests(msgspec.Struct, frozen=True):
    """The matrix of a catalog, and for each request one that was fitted without it."""

    matrix: RequestMatrix
    without: tuple[RequestMatrix, ...]
    """One a request, in their order; that of a request which took no part is the matrix itself."""
    gap: float


def fit_matrices(recorded: Sequence[Recorded], facets: Facets, progress: Progress) -> FittedRequests | None:
    """Fits a matrix to requests that are recorded without one; None where too few of them can take part.

    A request takes part if a right API of it has a vector. At most `MAX_REQUESTS` do, drawn from all.
    """
    pool = _pool(recorded, facets)
    row_of = {id_: row for row, id_ in enumerate(pool)}
    rows_of = [tuple(row_of[api] for api in item.query.relevant if api in row_of) for item in recorded]
    vectors = {
        place: item.request.vector
        for place, item in enumerate(recorded)
        if rows_of[place] and item.request.vector is not None
    }
    chosen = sorted(random.Random(0).sample(sorted(vectors), min(len(vectors), MAX_REQUESTS)))
    texts = [recorded[place].query.text for place in chosen]
    if len(set(texts)) < LEAST_REQUESTS:
        return None
    asked = np.stack([vectors[place] for place in chosen])
    judged = JudgedVectors(asked, np.stack(list(pool.values())), tuple(rows_of[place] for place in chosen))
    with progress.phase("fit", FITS) as advance:
        fit = cross_fit(judged, texts, advance)
    return _fitted(fit, texts, recorded)


def _fitted(fit: CrossFit, texts: Sequence[str], recorded: Sequence[Recorded]) -> FittedRequests:
    encoder = recorded[0].request.vector_model

    def matrix(found: FittedMatrix) -> RequestMatrix:
        return RequestMatrix(encoder, found.weights)

    final, folds = matrix(fit.final), [matrix(fold) for fold in fit.folds]
    fold_of = dict(zip(texts, fit.fold_of, strict=True))  # a twin that took no part is left out with it
    asked = [item.query.text for item in recorded]
    without = tuple(folds[fold_of[text]] if text in fold_of else final for text in asked)
    return FittedRequests(final, without, fit.final.gap)


def _pool(recorded: Sequence[Recorded], facets: Facets) -> dict[str, Vector]:
    """Vectors by id: of all right APIs, and of candidates of the requests, drawn where they are too many."""
    near = {each.id: each for item in recorded for each in item.request.candidates if each.vector.size}
    wanted = {api for item in recorded for api in item.query.relevant}
    tools = sorted({facets.tool(api) for api in wanted - near.keys()})
    near |= {
        each.id: each
        for tool in tools
        for each in recorded[0].fetcher.apis_of_tools([tool])
        if each.vector.size
    }
    others = sorted(near.keys() - wanted)
    drawn = random.Random(0).sample(others, min(len(others), MAX_POOL))
    return {id_: near[id_].vector for id_ in (*sorted(wanted & near.keys()), *drawn)}
