from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_training.examples import RankingList, ranking_figures


def item(*relevant: bool) -> RankingList:
    return RankingList("q", tuple(map(str, range(len(relevant)))), relevant)


def test_the_figures_of_a_known_order():
    found = ranking_figures([item(True, False, True)], [np.array([0.9, 0.5, 0.1], np.float32)], k=2)
    assert found.ndcg == pytest.approx(1 / (1 + 1 / np.log2(3)))
    assert found.recall == 0.5
    assert found.complete == 0.0


def test_lists_without_an_answer_do_not_count():
    zeros = np.zeros(2, np.float32)
    found = ranking_figures([item(False, False), item(True, False)], [zeros, zeros])
    assert found.lists == 1
    assert found.ndcg == 1.0


def test_no_lists_give_no_figures():
    assert ranking_figures([], []).lists == 0


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=2, max_size=12).filter(any), st.integers(0, 99))
def test_scikit_learn_agrees(relevant, seed):
    metrics = pytest.importorskip("sklearn.metrics")
    scores = np.random.default_rng(seed).normal(size=len(relevant)).astype(np.float32)
    ours = ranking_figures([item(*relevant)], [scores]).ndcg
    assert ours == pytest.approx(metrics.ndcg_score([relevant], [scores], k=5))
