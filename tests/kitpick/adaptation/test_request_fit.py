"""The matrix that turns requests: the minimum of a convex loss, of use for requests that it has not seen."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick.adaptation.request_fit import (
    FITS,
    FOLDS,
    JudgedVectors,
    _Objective,
    choose_left_out,
    cross_fit,
    fit_matrix,
    fit_sureness,
    folds_of,
)
from kitpick_evaluation.errors import EvaluationError

pytestmark = pytest.mark.needs("eval")


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def some(seed: int, requests: int = 7, documents: int = 6, dimensions: int = 4) -> JudgedVectors:
    rng = np.random.default_rng(seed)
    right = tuple(
        tuple(rng.choice(documents, size=rng.integers(1, 3), replace=False).tolist()) for _ in range(requests)
    )
    return JudgedVectors(
        unit(rng.normal(size=(requests, dimensions))), unit(rng.normal(size=(documents, dimensions))), right
    )


def plainly(judged: JudgedVectors, weights: np.ndarray, penalty: float, temperature: float) -> float:
    """The loss as the module's text has it, term by term."""
    total = 0.0
    for request, right in zip(judged.requests.astype(float), judged.right, strict=True):
        scores = judged.documents.astype(float) @ (request + weights @ request) / temperature
        wrong = [scores[j] for j in range(len(scores)) if j not in right]
        total += np.mean([np.log1p(sum(np.exp(s - scores[r]) for s in wrong)) for r in right])
    return total / len(judged.right) + penalty / 2 * float((weights**2).sum())


@settings(max_examples=25)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([0.05, 0.5, 2.0]))
def test_the_loss_and_its_gradient_are_what_is_written(seed: int, penalty: float) -> None:
    judged, temperature = some(seed), 0.5
    objective = _Objective(judged, penalty, temperature)
    at = np.random.default_rng(seed).normal(size=16) * 0.3
    value, gradient = objective(at)
    assert value == pytest.approx(plainly(judged, at.reshape(4, 4), penalty, temperature), rel=1e-4)
    step = 1e-3
    for place in (0, 5, 15):
        there, here = at.copy(), at.copy()
        there[place], here[place] = at[place] + step, at[place] - step
        slope = (
            plainly(judged, there.reshape(4, 4), penalty, temperature)
            - plainly(judged, here.reshape(4, 4), penalty, temperature)
        ) / (2 * step)
        assert gradient[place] == pytest.approx(slope, rel=1e-3, abs=1e-3)


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), penalty=st.sampled_from([0.05, 0.5, 2.0]))
def test_what_is_found_is_as_near_the_minimum_as_its_bound_says(seed: int, penalty: float) -> None:
    """The oracle is another solver, without our gradient, from another place."""
    from scipy.optimize import minimize

    judged, temperature = some(seed, dimensions=3), 0.5
    found = fit_matrix(judged, penalty, temperature)
    start = np.random.default_rng(seed + 1).normal(size=9)
    oracle = minimize(
        lambda at: plainly(judged, at.reshape(3, 3), penalty, temperature), start, method="BFGS"
    )
    ours = plainly(judged, found.weights.astype(float), penalty, temperature)
    assert ours <= oracle.fun + found.gap + 1e-5
    assert found.gap < 1e-3


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), requests=st.integers(1, 5), documents=st.integers(2, 5))
def test_fewer_vectors_than_dimensions_are_fitted_as_well(seed: int, requests: int, documents: int) -> None:
    """The minimum over the spans is that over all matrices: there the whole gradient is nought, too."""
    penalty, temperature = 0.5, 0.5
    judged = some(seed, requests, documents, dimensions=9)
    found = fit_matrix(judged, penalty, temperature)
    value, gradient = _Objective(judged, penalty, temperature)(found.weights.astype(float).ravel())
    assert value <= plainly(judged, np.zeros((9, 9)), penalty, temperature) + 1e-6
    assert float(gradient @ gradient) / (2 * penalty) <= found.gap + 1e-5
    assert found.gap < 1e-3


def test_a_larger_penalty_turns_less() -> None:
    turned = [float(np.linalg.norm(fit_matrix(some(1), penalty).weights)) for penalty in (0.1, 1.0, 10.0)]
    assert turned == sorted(turned, reverse=True)
    assert turned[0] > 2 * turned[2]


def test_requests_with_nothing_wrong_beside_them_turn_nothing() -> None:
    judged = JudgedVectors(np.eye(3, dtype=np.float32), np.eye(3, dtype=np.float32), ((0, 1, 2),) * 3)
    assert not fit_matrix(judged, 0.1).weights.any()


def in_other_words(seed: int, count: int) -> JudgedVectors:
    """Requests lie where their documents are, seen through a turned and narrowed space."""
    rng = np.random.default_rng(seed)
    documents = unit(rng.normal(size=(60, 16)))
    words = np.linalg.qr(rng.normal(size=(16, 16)))[0] * 0.8 + np.eye(16) * 0.2
    right = rng.integers(0, 60, size=count)
    said = unit(documents[right] @ words.T + rng.normal(size=(count, 16)) * 0.05)
    return JudgedVectors(said, documents, tuple((int(row),) for row in right))


def test_requests_that_took_no_part_are_nearer_to_what_they_want() -> None:
    judged = in_other_words(3, 200)
    steps: list[int] = []
    fitted = cross_fit(judged, [f"request {row}" for row in range(200)], steps.append)
    assert sum(steps) == FITS
    assert fitted.loss_left_out < 0.5 * fitted.loss_before
    further = in_other_words(3, 260)
    new = JudgedVectors(further.requests[200:], further.documents, further.right[200:])

    def first_right(weights: np.ndarray) -> float:
        found = np.argmax((new.requests + new.requests @ weights.T) @ new.documents.T, axis=1)
        return float(np.mean([row in right for row, right in zip(found, new.right, strict=True)]))

    assert first_right(fitted.final.weights) > first_right(np.zeros((16, 16), np.float32)) + 0.3


@given(texts=st.lists(st.text(max_size=3), max_size=40))
def test_equal_requests_are_left_out_together_and_folds_are_even(texts: list[str]) -> None:
    fold_of = dict(zip(texts, folds_of(texts), strict=True))
    assert tuple(fold_of[text] for text in texts) == folds_of(texts)
    sizes = np.bincount(list(fold_of.values()), minlength=FOLDS) if texts else np.zeros(FOLDS)
    assert sizes.max() - sizes.min() <= 1


def test_too_few_different_requests_are_refused() -> None:
    with pytest.raises(EvaluationError, match="2 different requests are too few"):
        cross_fit(some(1, requests=4), ["a", "b", "a", "b"])


def test_a_choice_is_judged_by_requests_that_took_no_part_in_it() -> None:
    figures = np.array([[0.5, 0.5, 0.5, 0.5], [1.0, 1.0, 0.0, 0.3], [0.0, 0.0, 1.0, 1.0]])
    best, left_out = choose_left_out(figures, (0, 0, 1, 1))
    assert best == 1, "the largest mean"
    assert left_out.tolist() == [2, 2, 1, 1], "each fold by what is best on the other one"


def test_of_equal_ways_the_first_is_chosen() -> None:
    best, left_out = choose_left_out(np.ones((3, 4)), (0, 1, 2, 3))
    assert best == 0
    assert not left_out.any()
    assert choose_left_out(np.eye(2), (0, 0))[1].tolist() == [0, 0], "nothing else tells which is best"


def some_hits(seed: int, scale: float, shift: float) -> tuple[np.ndarray, np.ndarray, list[int]]:
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=2_000) * 2
    right = rng.random(2_000) < 1 / (1 + np.exp(-(scale * scores + shift)))
    return scores, right, [row % FOLDS for row in range(2_000)]


@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (0.5, -1.0), (2.0, 1.5)])
def test_sureness_is_fitted_to_how_often_hits_are_right(scale: float, shift: float) -> None:
    from sklearn.linear_model import LogisticRegression

    scores, right, folds = some_hits(1, scale, shift)
    found = fit_sureness(scores, right, np.full(2_000, 0.5), folds)
    assert found is not None
    oracle = LogisticRegression(C=1e6).fit(scores[:, None], right)
    assert found == pytest.approx((oracle.coef_[0, 0], oracle.intercept_[0]), abs=0.03)


def test_probabilities_that_hold_already_stay() -> None:
    scores, right, folds = some_hits(2, 1.0, 0.0)
    assert fit_sureness(scores, right, np.where(right, 0.99, 0.01), folds) is None


def test_hits_of_one_kind_tell_nothing() -> None:
    assert fit_sureness(np.arange(10.0), np.ones(10, bool), np.full(10, 0.5), [0, 1] * 5) is None
