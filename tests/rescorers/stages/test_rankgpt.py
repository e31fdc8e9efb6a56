"""A language model orders the list, or the list stays as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.llm.model import CallFailed, Completion
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Fuse, RankGpt


class Oracle:
    """Knows that `t/000` is best, then `t/001`, and so on. Fails at the calls it is told to."""

    identity = "oracle"

    def __init__(self, fails_at: int = 0, speechless_at: int = 0) -> None:
        self.fails_at, self.speechless_at = fails_at, speechless_at
        self.calls = 0

    def complete(self, messages: Any, **_: Any) -> Completion:
        self.calls += 1
        if self.calls == self.fails_at:
            raise CallFailed("the cable is cut")
        if self.calls == self.speechless_at:
            return Completion("Hmm.", 10, 1)
        tools = json.JSONDecoder().raw_decode(messages[1].content)[0]["tools"]
        order = sorted(tools, key=lambda tool: tool["description"])
        return Completion(json.dumps({"ranking": [tool["number"] for tool in order]}), 100, 10, 0.01)


def backwards(bench, count: int = 100):
    return bench.fused([f"t/{place:03}" for place in reversed(range(count))])


def names(*places: int) -> list[str]:
    return [f"t/{place:03}" for place in places]


@pytest.mark.parametrize("count", [1, 2, 19, 20, 21, 25, 37, 100])
def test_with_a_perfect_model_the_first_ten_are_perfect(bench, count: int) -> None:
    state = RankGpt().apply(backwards(bench, count), Models(llm=Oracle()))
    assert bench.ids(state)[:10] == names(*range(min(10, count)))
    assert sorted(bench.ids(state)) == names(*range(count))


def test_windows_that_do_not_overlap_give_the_same_in_parallel(bench) -> None:
    state = RankGpt(window=10, step=10, candidates=30).apply(backwards(bench, 30), Models(llm=Oracle()))
    assert bench.ids(state) == names(*range(20, 30), *range(10, 20), *range(10))


def test_what_is_behind_the_candidates_stays_there(bench) -> None:
    state = RankGpt(candidates=5).apply(backwards(bench, 8), Models(llm=Oracle()))
    assert bench.ids(state) == names(3, 4, 5, 6, 7, 2, 1, 0)


@pytest.mark.parametrize("fails_at", [1, 5, 9])
def test_a_call_that_fails_leaves_the_whole_order(bench, fails_at: int) -> None:
    made = [bench.candidate(f"t/{place:03}", lexical=100 - place) for place in range(100)]
    profile = Profile(name="x", stages=(Fuse(), RankGpt()))
    answer = rescore(RescoreRequest("query", made, k=100), profile, Models(llm=Oracle(fails_at=fails_at)))
    assert [hit.id for hit in answer.results] == names(*reversed(range(100)))
    assert "the cable is cut" in answer.degraded[0].reason


def test_a_window_without_an_order_stays_and_is_told(bench) -> None:
    state = RankGpt(retries=0).apply(backwards(bench, 30), Models(llm=Oracle(speechless_at=1)))
    assert sorted(bench.ids(state)) == names(*range(30))
    assert [item.stage for item in state.degraded] == ["rankgpt"]
    assert state.details["unscored"] == 1


def test_caps_hold_over_all_windows(bench) -> None:
    for cap in ({"max_calls": 3}, {"max_tokens": 600}, {"max_cost": 0.02}):
        model = Oracle()
        with pytest.raises(StageUnavailable, match="cap of"):
            RankGpt(**cap).apply(backwards(bench), Models(llm=model))
        assert model.calls < 9


def test_without_a_model_the_order_stands(bench) -> None:
    with pytest.raises(StageUnavailable, match="no language model"):
        RankGpt().apply(backwards(bench), Models())


def test_the_trace_says_what_it_took(bench) -> None:
    state = RankGpt().apply(backwards(bench), Models(llm=Oracle()))
    assert state.details == {"calls": 9, "tokens": 990, "cost": pytest.approx(0.09), "ok": 9}
    assert state.reasons["t/000"] == "from 100 to 1"


def test_a_step_beyond_the_window_is_refused() -> None:
    with pytest.raises(ValueError, match="`step` above `window`"):
        RankGpt(window=5, step=6)
