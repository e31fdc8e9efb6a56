"""Judged requests of a catalog and documents near them, as vectors; and the matrix that is fitted to them."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import numpy as np

from kitpick_engines.contract import Vector
from kitpick_evaluation.facets import Facets
from kitpick_evaluation.request_fit import (
    FITS,
    MAX_POOL,
    MAX_REQUESTS,
    CrossFit,
    FittedMatrix,
    JudgedVectors,
    cross_fit,
)
from kitpick_evaluation.tuning.recording import Recorded
from kitpick_ingest.progress import Progress
from kitpick_rescorers.request_matrix import RequestMatrix

LEAST_REQUESTS = 20
"""Fewer of them do not show how requests and documents of a catalog lie to each other."""


class FittedRequests(msgspec.Struct, frozen=True):
    """The matrix of a catalog, and for each request one that was fitted without it."""

    matrix: RequestMatrix
    without: tuple[RequestMatrix, ...]
    """One a request, in their order; that of a request which took no part is the matrix itself."""
    fit: CrossFit


def fit_requests(recorded: Sequence[Recorded], facets: Facets, progress: Progress) -> FittedRequests | None:
    """Fits a matrix to requests that are recorded without one; None where too few of them can take part.

    A request takes part if a right API of it has a vector. At most `MAX_REQUESTS` do, drawn from all.

    Raises:
        MissingExtra: scipy is not installed.
        EngineError: the catalog cannot be read.
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
    return _fitted(fit, chosen, len(recorded), recorded[0].request.vector_model)


def _fitted(fit: CrossFit, chosen: Sequence[int], requests: int, encoder: str) -> FittedRequests:
    def matrix(found: FittedMatrix) -> RequestMatrix:
        return RequestMatrix(encoder, found.weights)

    final, folds = matrix(fit.final), [matrix(fold) for fold in fit.folds]
    fold_of = dict(zip(chosen, fit.fold_of, strict=True))
    without = tuple(folds[fold_of[place]] if place in fold_of else final for place in range(requests))
    return FittedRequests(final, without, fit)


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
