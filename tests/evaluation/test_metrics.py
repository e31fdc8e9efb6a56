"""Ranking measures: the library's figures, and Comp, which is ours."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import examples
from sklearn.metrics import (
    label_ranking_average_precision_score,
    ndcg_score,
    precision_score,
    recall_score,
)

from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import EvaluationError
from kitpick_evaluation.metrics import comp, mean, score_rankings

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
    found = figures(["a", "b", "x"], "a", "b")
    assert {value for name, value in found.items() if not name.startswith("precision")} == {1.0}
    assert found["precision@3"] == pytest.approx(2 / 3)


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


def test_one_of_equally_right_apis_is_enough_and_a_second_one_gains_nothing() -> None:
    either = JudgedQuery("q", "do it", frozenset("abc"), groups=(frozenset("ab"), frozenset("c")))
    found = score_rankings([either], {"q": ["b", "a", "c", "x"]}, (2, 3))["q"]
    assert (found["recall@2"], found["recall@3"]) == (0.5, 1.0)
    assert (found["comp@2"], found["comp@3"]) == (0.0, 1.0)
    assert found["precision@3"] == pytest.approx(2 / 3)
    assert found["map"] == pytest.approx((1 + 2 / 3) / 2)
    perfect = score_rankings([either], {"q": ["c", "b"]}, (2,))["q"]
    assert set(perfect.values()) == {1.0}


def test_an_api_named_twice_is_refused() -> None:
    with pytest.raises(EvaluationError, match="twice"):
        figures(["a", "a"], "a")


ORACLE_CUTOFFS = (1, 3, 5, 10)


@given(
    st.dictionaries(st.sampled_from(APIS), st.sampled_from([0.0, 0.25, 0.5, 1.0]), max_size=12),
    st.sets(st.sampled_from(APIS), min_size=1),
)
@settings(max_examples=examples(150), deadline=None)
def test_every_figure_agrees_with_a_second_library(scores: dict[str, float], relevant: set[str]) -> None:
    """Scores with ties, APIs that were not ranked, and APIs nobody judged, against scikit-learn."""
    ranking = ranked_by_score(scores)
    found = score_rankings([judged(*relevant)], {"q": ranking}, ORACLE_CUTOFFS)["q"]
    truth = np.array([[float(api in relevant) for api in APIS]])
    # What was not ranked stands behind all that was, and gains nothing.
    place = {api: float(len(ranking) - index) for index, api in enumerate(ranking)}
    order = np.array([[place.get(api, 0.0) for api in APIS]])
    for k in ORACLE_CUTOFFS:
        picked = np.array([[float(api in ranking[:k]) for api in APIS]])
        recall = recall_score(truth[0], picked[0], zero_division=0.0)
        assert found[f"recall@{k}"] == pytest.approx(recall, abs=1e-9)
        assert found[f"comp@{k}"] == float(recall == 1.0)
        full = precision_score(truth[0], picked[0], zero_division=0.0) * min(k, len(ranking)) / k
        assert found[f"precision@{k}"] == pytest.approx(full, abs=1e-9)
        assert found[f"ndcg@{k}"] == pytest.approx(
            ndcg_score(truth * (order > 0), order, k=k, ignore_ties=True)
            * ideal(min(k, len(relevant & set(ranking))))
            / ideal(min(k, len(relevant))),
            abs=1e-9,
        )
    hits = [api for api in ranking if api in relevant]
    assert found["map"] == pytest.approx(
        average_precision(ranking, relevant) * len(hits) / len(relevant), abs=1e-9
    )
    assert found["mrr"] == pytest.approx(average_precision(ranking, set(hits[:1])), abs=1e-9)


def ranked_by_score(scores: dict[str, float]) -> list[str]:
    """Descending, ties by id: the order that every part of this project uses."""
    return sorted(scores, key=lambda api: (-scores[api], api))


def ideal(count: int) -> float:
    return sum(1 / np.log2(place + 2) for place in range(count))


def average_precision(ranking: list[str], relevant: set[str]) -> float:
    """The library's label-ranking average precision over what was ranked; 0 where nothing relevant was."""
    truth = np.array([[float(api in relevant) for api in ranking]])
    if not truth.any():
        return 0.0
    return float(
        label_ranking_average_precision_score(truth, np.array([[float(-i) for i in range(len(ranking))]]))
    )
