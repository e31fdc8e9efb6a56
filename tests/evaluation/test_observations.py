"""What is kept of answers: calibration in bins, and how deep the relevant APIs lay."""

from __future__ import annotations

import pytest
from sklearn.calibration import calibration_curve

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.answer import Answer
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.facets import Facets
from kitpick_evaluation.observations import DEPTHS, Observations, recall_at_depths
from kitpick_rescorers.state import StageTrace

FACETS = Facets([ApiDocument(id="a", source="s", category="c", tool="t", api="a")], is_seen=lambda tool: True)
QUERY = JudgedQuery("1", "x", frozenset("a"))


def fused(*order: str) -> StageTrace:
    return StageTrace("fuse", 0.0, order, tuple(0.0 for _ in order), {})


def test_reliability_agrees_with_another_library() -> None:
    seen = Observations(FACETS)
    probabilities = (0.93, 0.97, 0.41, 0.45, 0.02, 1.0)
    seen("p", QUERY, Answer(ids=("a", "b", "c", "d", "e", "f"), probabilities=probabilities))
    truth = [api == "a" for api in "abcdef"]
    relevant, stated = calibration_curve(truth, probabilities, n_bins=10)
    assert [bin_.right for bin_ in seen.calibration("p")] == pytest.approx(list(relevant))
    assert [bin_.probability for bin_ in seen.calibration("p")] == pytest.approx(list(stated))
    assert sum(bin_.hits for bin_ in seen.calibration("p")) == 6


def test_hits_that_were_not_scored_are_left_out() -> None:
    seen = Observations(FACETS)
    seen("p", QUERY, Answer(ids=("a", "b"), probabilities=(0.5, None)))
    assert [bin_.hits for bin_ in seen.calibration("p")] == [1]
    assert seen.calibration("q") == ()


def test_recall_grows_with_the_depth() -> None:
    order = [f"x{n}" for n in range(25)] + ["a"] + [f"y{n}" for n in range(300)] + ["b"]
    found = dict(zip(DEPTHS, recall_at_depths(order, frozenset("ab")), strict=True))
    assert (found[20], found[30], found[200]) == (0.0, 0.5, 0.5)


def test_depths_are_told_apart_by_what_was_seen() -> None:
    seen = Observations(FACETS)
    seen("p", QUERY, Answer(ids=(), trace=(fused("b", "a"),)))
    seen("p", QUERY, Answer(ids=(), trace=(fused("a"),)))
    (only,) = seen.depth_recall("p")
    assert (only.subset, only.requests) == ("seen", 2)
    assert only.recall[:2] == (0.5, 1.0)
