"""Intervals agree with another library's bootstrap, and keep subsets apart."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import bootstrap

from kitpick_evaluation.significance import mean_intervals


def test_intervals_agree_with_scipy_within_the_noise_of_resampling() -> None:
    figures = np.random.default_rng(1).beta(2, 1, size=(120, 1))
    ours = mean_intervals([figures], seed=2, resamples=4_000)[0]
    theirs = bootstrap(
        (figures[:, 0],), np.mean, n_resamples=4_000, method="percentile", rng=np.random.default_rng(3)
    ).confidence_interval
    assert ours == pytest.approx([theirs.low, theirs.high], abs=0.005)


def test_equal_seeds_give_equal_intervals() -> None:
    figures = np.random.default_rng(1).random((50, 3))
    assert (mean_intervals([figures], seed=5) == mean_intervals([figures], seed=5)).all()
    assert (mean_intervals([figures], seed=5) != mean_intervals([figures], seed=6)).any()


def test_a_mean_over_subsets_has_no_spread_between_them() -> None:
    constant = [np.zeros((40, 1)), np.ones((3, 1))]
    assert mean_intervals(constant, seed=0).tolist() == [[0.5, 0.5]]


def test_many_requests_are_resampled_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    figures = np.random.default_rng(1).random((100, 2))
    whole = mean_intervals([figures], seed=5, resamples=300)
    monkeypatch.setattr("kitpick_evaluation.significance._BLOCK", 1_000)
    assert mean_intervals([figures], seed=5, resamples=300) == pytest.approx(whole, abs=1e-12)
