"""Ranking measures: the library's figures, and Comp, which is ours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from toolrank_evaluation.dataset import JudgedQuery
from toolrank_evaluation.errors import EvaluationError
from toolrank_evaluation.metrics import comp, mean, score_rankings

pytestmark = pytest.mark.needs("eval")

APIS = [f"api{n}" for n in range(12)]


def judged(*relevant: str) -> JudgedQuery:
    return JudgedQuery("q", "do it", frozenset(relevant))


def figures(ranking: list[str], *relevant: str) -> dict[str, float]:
    return score_rankings([judged(*relevant)], {"q": ranking})["q"]


def test_comp_asks_for_every_relevant_api() -> None:
    assert comp(["a", "b", "x"], frozenset("ab"), 2) == 1.0
    assert comp(["a", "x", "b"], frozenset("ab"), 2) == 0.0


def test_a_perfect_ranking_has_perfect_figures() -> None:
    assert set(figures(["a", "b", "x"], "a", "b").values()) == {1.0}


def test_an_empty_ranking_scores_zero() -> None:
    assert set(figures([], "a").values()) == {0.0}


def test_a_query_without_a_ranking_counts_as_zero_instead_of_vanishing() -> None:
    queries = [JudgedQuery("q1", "x", frozenset("a")), JudgedQuery("q2", "y", frozenset("b"))]
    found = score_rankings(queries, {"q1": ["a"]})
    assert found["q2"]["recall@5"] == 0.0
    assert mean(list(found.values()))["recall@5"] == 0.5


def test_recall_and_mrr_by_hand() -> None:
    found = figures(["x", "a", "y", "z", "b"], "a", "b")
    assert found["recall@3"] == 0.5
    assert found["recall@5"] == 1.0
    assert found["mrr"] == 0.5
    assert found["map"] == pytest.approx((1 / 2 + 2 / 5) / 2)


def test_an_api_named_twice_is_refused() -> None:
    with pytest.raises(EvaluationError, match="twice"):
        figures(["a", "a"], "a")


@given(st.permutations(APIS), st.sets(st.sampled_from(APIS), min_size=1), st.integers(0, 12))
@settings(max_examples=60, deadline=None)
def test_figures_agree_with_a_second_library_and_with_their_definitions(
    order: list[str], relevant: set[str], length: int
) -> None:
    ranking = order[:length]
    found = figures(ranking, *relevant)
    gains = np.array([[float(api in relevant) for api in order]])
    # An API that was not ranked stands behind all that were.
    scores = np.array([[float(len(order) - i) if i < length else -1.0 for i in range(len(order))]])
    for k in (3, 5, 10):
        hit = sum(api in relevant for api in ranking[:k])
        assert found[f"recall@{k}"] == pytest.approx(hit / len(relevant), abs=1e-9)
        if k <= length:
            expected = ndcg_score(gains, scores, k=k, ignore_ties=True)
            assert found[f"ndcg@{k}"] == pytest.approx(expected, abs=1e-9)
