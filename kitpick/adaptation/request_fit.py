"""Fits to judged requests of one catalog the matrix that turns the vectors of its requests.

In each catalog the vectors of requests differ from those of documents in a way of their own, and a few dozen
judged requests show how. With unit vectors q of requests, d of documents, s = (q + Wq)·d, and R the right
documents of a request, the matrix is the minimum of

    mean over requests, and over r in R, of  log(1 + Σ over wrong j of exp((s_j − s_r)/τ))  +  λ/2 · ‖W‖²

This is a multinomial logistic regression on the products of both vectors. It is convex, strongly by λ: where
the gradient g is, the objective is at most ‖g‖²/(2λ) above its minimum (Boyd & Vandenberghe 2004, Convex
Optimization, eq. 9.9), whatever the solver did. λ is the one of least loss on requests that are left out.

The minimum reads only the span of the requests, and writes only into that of the documents: more would cost
‖W‖² and change no score (the representer theorem). So the solver sees no more numbers than these spans have
dimensions: for 60 requests of 384 dimensions a sixth of the matrix. Without scipy, `MissingExtra` is raised.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from hashlib import blake2b
from typing import Any, NamedTuple, cast

import msgspec
import numpy as np
from numpy.typing import NDArray

from kitpick_evaluation.errors import EvaluationError
from kitpick_foundation.errors import MissingExtra

Float32 = NDArray[np.float32]
TEMPERATURE = 0.05
"""The one that the encoders are trained with."""
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
FOLDS = 5
MAX_POOL = 20_000
"""Documents that requests are compared with: more of them are drawn from."""
MAX_REQUESTS = 2_000
_STEPS = 100
_SMALL = 100_000_000
"""Multiplications of one evaluation."""


class JudgedVectors(msgspec.Struct, frozen=True, eq=False):
    """Requests and documents of one catalog as vectors, with the right documents of each request."""

    requests: Float32
    """Unit vectors (n, d)."""
    documents: Float32
    """Unit vectors (m, d) of what requests are compared with."""
    right: tuple[tuple[int, ...], ...]
    """Rows of documents, at least one for each request."""

    def of_rows(self, rows: Sequence[int]) -> JudgedVectors:
        """Some of the requests, over the same documents."""
        return JudgedVectors(
            self.requests[list(rows)], self.documents, tuple(self.right[row] for row in rows)
        )


class FittedMatrix(msgspec.Struct, frozen=True, eq=False):
    """The minimum, and how near it is."""

    weights: Float32
    """(d, d)."""
    gap: float
    """An upper bound of how far the objective is above its minimum, in nats."""


def fit_matrix(judged: JudgedVectors, penalty: float, temperature: float = TEMPERATURE) -> FittedMatrix:
    """The matrix of least loss for a penalty λ > 0 and a temperature τ > 0."""
    minimize = _solver()
    spans = _Spans(_basis(judged.requests), _basis(judged.documents))
    objective = _Objective(judged, penalty, temperature, spans)
    start = np.zeros(len(spans.documents) * len(spans.requests))
    options = {"maxiter": _STEPS, "gtol": 0.0, "ftol": 1e-7}
    with _threads_for(judged):
        found = minimize(objective, start, jac=True, method="L-BFGS-B", options=options)
    _, gradient = objective(found.x)
    inner = found.x.reshape(len(spans.documents), len(spans.requests)).astype(np.float32)
    weights = spans.documents.T @ inner @ spans.requests
    return FittedMatrix(weights, float(gradient @ gradient) / (2.0 * penalty))


def _threads_for(judged: JudgedVectors) -> AbstractContextManager[object]:
    """One thread where the products are so small that several would only wait for one another."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # it is only slower
        return nullcontext()
    small = len(judged.requests) * judged.documents.size < _SMALL
    return cast(AbstractContextManager[object], threadpool_limits(1 if small else None, user_api="blas"))


class _Spans(NamedTuple):
    """Orthonormal rows (s, d) between which a matrix is searched: a matrix of (documents, requests)."""

    requests: Float32
    documents: Float32


def _basis(vectors: Float32) -> Float32:
    """Orthonormal rows that span the vectors (n, d): n of them, or all d."""
    count, dimensions = vectors.shape
    if count >= dimensions:
        return np.eye(dimensions, dtype=np.float32)
    return np.ascontiguousarray(np.linalg.qr(vectors.T)[0].T)


class _Objective:
    """The loss with its gradient, as a function of the flattened matrix, whole or between two spans."""

    def __init__(
        self, judged: JudgedVectors, penalty: float, temperature: float, spans: _Spans | None = None
    ) -> None:
        self._requests = judged.requests if spans is None else judged.requests @ spans.requests.T
        self._documents = judged.documents if spans is None else judged.documents @ spans.documents.T
        self._penalty = penalty
        self._temperature = temperature
        self._plain = judged.requests @ judged.documents.T
        self._rows = np.array([row for row, right in enumerate(judged.right) for _ in right])
        self._columns = np.array([column for right in judged.right for column in right])
        shares = [1.0 / (len(right) * len(judged.right)) for right in judged.right for _ in right]
        self._shares = np.array(shares)

    def __call__(self, flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights = flat.reshape(self._documents.shape[1], -1).astype(np.float32)
        loss, slope = self._loss(self._scores(weights))
        gradient = (slope @ self._documents).T @ self._requests / np.float32(self._temperature)
        penalty = self._penalty / 2.0 * float(flat @ flat)
        return loss + penalty, gradient.ravel().astype(np.float64) + self._penalty * flat

    def _loss(self, scores: Float32) -> tuple[float, Float32]:
        """The loss, and its derivative by each score (n, m)."""
        right = scores[self._rows, self._columns].astype(np.float64)
        scores[self._rows, self._columns] = -np.inf  # only wrong ones compete
        highest = scores.max(axis=1, keepdims=True)
        highest[~np.isfinite(highest)] = 0.0  # nothing is wrong
        wrong = np.exp(scores - highest)
        total = wrong.sum(axis=1)
        with np.errstate(divide="ignore"):
            behind = highest[:, 0] + np.log(total)
        ahead = behind[self._rows] - right
        slope = self._shares / (1.0 + np.exp(-np.clip(ahead, -500.0, 500.0)))
        of_request = np.bincount(self._rows, slope, len(scores))
        wrong *= (of_request / np.maximum(total, 1e-30)).astype(np.float32)[:, None]
        wrong[self._rows, self._columns] = -slope
        return float(self._shares @ np.logaddexp(0.0, ahead)), wrong

    def loss(self, weights: Float32) -> float:
        """The loss without the penalty."""
        return self._loss(self._scores(weights))[0]

    def _scores(self, weights: Float32) -> Float32:
        moved = (self._requests @ weights.T) @ self._documents.T
        return np.asarray((self._plain + moved) / np.float32(self._temperature), np.float32)


class CrossFit(msgspec.Struct, frozen=True, eq=False):
    """A matrix fitted to all requests, and for each request one fitted without it and its like."""

    penalty: float
    final: FittedMatrix
    folds: tuple[FittedMatrix, ...]
    fold_of: tuple[int, ...]
    """The fold that a request is left out of, for each request."""
    loss_before: float
    """Mean loss of the requests without a matrix, in nats."""
    loss_left_out: float
    """The same by the matrices fitted without them."""


def cross_fit(
    judged: JudgedVectors, texts: Sequence[str], advance: Callable[[int], None] = lambda _: None
) -> CrossFit:
    """Chooses the penalty by requests that are left out, and fits to all with it.

    Args:
        judged: the requests.
        texts: what each request says: equal texts are left out together.
        advance: called after every fit, `FITS` times.

    Raises:
        EvaluationError: too few different requests.
        MissingExtra: scipy is not installed.
    """
    fold_of = folds_of(texts)
    if len(set(fold_of)) < FOLDS:
        raise EvaluationError(f"{len(set(texts))} different requests are too few to fit a matrix to")
    losses, fitted = {}, {}
    for penalty in PENALTIES:
        fitted[penalty] = tuple(_each_fold(judged, fold_of, penalty, advance))
        losses[penalty] = _left_out(judged, fold_of, fitted[penalty])
    best = min(losses, key=lambda penalty: losses[penalty])
    final = fit_matrix(judged, best)
    advance(1)
    none = np.zeros((judged.requests.shape[1],) * 2, np.float32)
    before = _Objective(judged, best, TEMPERATURE).loss(none)
    return CrossFit(best, final, fitted[best], fold_of, before, losses[best])


FITS = FOLDS * len(PENALTIES) + 1
"""How many matrices `cross_fit` fits."""


def folds_of(texts: Sequence[str]) -> tuple[int, ...]:
    """A fold for each text: equal texts share one, and folds differ by one different text at most."""
    drawn = sorted(set(texts), key=lambda text: (_digest(text), text))
    fold_of = {text: place % FOLDS for place, text in enumerate(drawn)}
    return tuple(fold_of[text] for text in texts)


def choose_left_out(figures: NDArray[np.float64], fold_of: Sequence[int]) -> tuple[int, NDArray[np.int64]]:
    """The way that is best for all requests, and for each request the way that is best for the other folds.

    What the second one finds is what a choice like the first is worth for requests that took no part in it.

    Args:
        figures: of each way on each request, (w, n), larger is better; of equal ways the first is taken.
        fold_of: the fold of each request.
    """
    folds = np.array(fold_of)
    of_fold = {
        fold: int(np.argmax(figures[:, folds != fold].mean(axis=1))) if (folds != fold).any() else 0
        for fold in np.unique(folds)
    }
    return int(np.argmax(figures.mean(axis=1))), np.array([of_fold[fold] for fold in folds])


def fit_sureness(
    scores: NDArray[np.float64], right: NDArray[np.bool_], told: NDArray[np.float64], fold_of: Sequence[int]
) -> tuple[float, float] | None:
    """Scale a > 0 and shift b, so that σ(a · score + b) is how likely a hit is right.

    Platt 1999, Probabilistic outputs for support vector machines: a logistic regression whose targets are
    drawn in a little, so that a few hits never make certain. None where probabilities that are told already
    have a smaller log loss than those of fits without the fold, or hits of only one kind.

    Args:
        scores: of hits (h,).
        right: whether each was right (h,).
        told: the probabilities that they came with (h,), in [0, 1].
        fold_of: the fold of each hit.
    """
    folds = np.array(fold_of)
    left_out = np.zeros(len(scores))
    for fold in np.unique(folds):
        fitted = _platt(scores[folds != fold], right[folds != fold])
        if fitted is None:
            return None
        left_out[folds == fold] = _sigmoid(fitted[0] * scores[folds == fold] + fitted[1])
    found = _platt(scores, right)
    return found if found is not None and _log_loss(left_out, right) < _log_loss(told, right) else None


def _platt(scores: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[float, float] | None:
    hits, misses = int(right.sum()), int((~right).sum())
    if not (hits and misses):
        return None
    targets = np.where(right, (hits + 1.0) / (hits + 2.0), 1.0 / (misses + 2.0))

    def loss(at: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        logits = at[0] * scores + at[1]
        off = _sigmoid(logits) - targets
        value = float((np.logaddexp(0.0, logits) - targets * logits).mean())
        return value, np.array([float((off * scores).mean()), float(off.mean())])

    begin = np.array([1.0, 0.0])
    found = _solver()(loss, begin, jac=True, method="L-BFGS-B", bounds=[(1e-3, 100.0), (-100.0, 100.0)])
    return float(found.x[0]), float(found.x[1])


def _sigmoid(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 0.5 * (1.0 + np.tanh(0.5 * values))


def _log_loss(probabilities: NDArray[np.float64], right: NDArray[np.bool_]) -> float:
    known = np.clip(probabilities, 1e-6, 1.0 - 1e-6)
    return float(-np.where(right, np.log(known), np.log1p(-known)).mean())


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _each_fold(
    judged: JudgedVectors, fold_of: Sequence[int], penalty: float, advance: Callable[[int], None]
) -> Iterator[FittedMatrix]:
    for fold in range(FOLDS):
        yield fit_matrix(judged.of_rows([row for row, own in enumerate(fold_of) if own != fold]), penalty)
        advance(1)


def _left_out(judged: JudgedVectors, fold_of: Sequence[int], fitted: Sequence[FittedMatrix]) -> float:
    """Mean loss of each request by the matrix fitted without it."""
    total = 0.0
    for fold, matrix in enumerate(fitted):
        rows = [row for row, own in enumerate(fold_of) if own == fold]
        total += len(rows) * _Objective(judged.of_rows(rows), 1.0, TEMPERATURE).loss(matrix.weights)
    return total / len(fold_of)


def _solver() -> Any:  # noqa: ANN401
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise MissingExtra("eval", "fitting to requests") from error
    return minimize
