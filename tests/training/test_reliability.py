"""Calibration errors against values computed by hand."""

from __future__ import annotations

import pytest
from sklearn.calibration import calibration_curve

from kitpick_training.calibration import (
    calibration_error,
    calibration_floor,
    reliability_bins,
)


def test_the_calibration_error_weighs_bins_by_their_hits() -> None:
    # bin 0.9…1.0: three hits of 0.95, two right: |0.95 − 2/3|; bin 0.1…0.2: one of 0.15, wrong: 0.15
    pairs = [(0.95, True), (0.95, True), (0.95, False), (0.15, False)]
    assert calibration_error(pairs) == pytest.approx(0.75 * (0.95 - 2 / 3) + 0.25 * 0.15)
    low, high = reliability_bins(pairs)
    assert (low.probability, low.right, low.hits) == pytest.approx((0.15, 0, 1))
    assert (high.probability, high.right, high.hits) == pytest.approx((0.95, 2 / 3, 3))


def test_errors_of_both_signs_cancel_within_a_bin_and_not_between_bins() -> None:
    assert calibration_error([(0.5, True), (0.5, False)]) == pytest.approx(0)
    assert calibration_error([(0.0, True), (1.0, False)]) == pytest.approx(1)


def test_few_hits_have_a_calibration_error_even_where_every_probability_holds() -> None:
    few, many = [(0.5, True)] * 10, [(0.5, True)] * 1_000
    # E|mean of n coins − ½| ≈ √(2/π) · ½/√n
    assert calibration_floor(few, 0) == pytest.approx(0.126, abs=0.02)
    assert calibration_floor(many, 0) == pytest.approx(0.0126, abs=0.003)
    assert calibration_floor([(1.0, True)] * 5, 0) == 0


def test_reliability_agrees_with_another_library() -> None:
    stated = (0.93, 0.97, 0.41, 0.45, 0.02, 1.0)
    right = [True, False, False, False, False, False]
    found = reliability_bins(list(zip(stated, right, strict=True)))
    shares, means = calibration_curve(right, stated, n_bins=10)
    assert [each.right for each in found] == pytest.approx(list(shares))
    assert [each.probability for each in found] == pytest.approx(list(means))
    assert sum(each.hits for each in found) == 6
