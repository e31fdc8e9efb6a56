"""A tool's best API lifts the others: by a share, never past it, never out of their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kitpick_engines.contract import Candidate
from kitpick_rescorers.request import RescoreRequest, opening_state
from kitpick_rescorers.stages.fusion import lift_tools
from kitpick_rescorers.state import Ranked

scores = st.floats(-1e6, 1e6)
scored = st.lists(st.tuples(st.sampled_from("tuv"), scores), max_size=12)
shares = st.floats(0.0, 1.0)


def items(pairs: list[tuple[str, float]]) -> list[Ranked]:
    found = [Candidate(f"{n}", "", tool, f"{n}", "", ()) for n, (tool, _) in enumerate(pairs)]  # type: ignore[arg-type]
    ranked = opening_state(RescoreRequest("x", found)).ranked
    return [replace(item, score=score) for item, (_, score) in zip(ranked, pairs, strict=True)]


@given(scored, shares)
def test_no_score_falls_or_passes_the_best_of_its_tool(pairs: list[tuple[str, float]], share: float) -> None:
    before = items(pairs)
    after = lift_tools(before, share)
    assert [item.id for item in after] == [item.id for item in before]
    for old, new in zip(before, after, strict=True):
        best = max(item.score for item in before if item.tool == old.tool)
        assert old.score - 1e-6 <= new.score <= best + 1e-6


@given(scored, shares)
def test_the_order_within_a_tool_stays(pairs: list[tuple[str, float]], share: float) -> None:
    before = items(pairs)
    after = lift_tools(before, share)
    for one, first in zip(before, after, strict=True):
        for other, second in zip(before, after, strict=True):
            if one.tool == other.tool and one.score < other.score:
                assert first.score <= second.score + 1e-6


@given(scored)
def test_the_ends_are_none_of_it_and_all_of_it(pairs: list[tuple[str, float]]) -> None:
    before = items(pairs)
    assert [item.score for item in lift_tools(before, 0.0)] == [score for _, score in pairs]
    assert all(
        abs(item.score - max(score for tool, score in pairs if tool == item.candidate.tool)) < 1e-6
        for item in lift_tools(before, 1.0)
    )
