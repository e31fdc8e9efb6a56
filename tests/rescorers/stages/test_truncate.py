from __future__ import annotations

import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import Truncate


def test_positions_are_those_in_the_first_stage_order(bench):
    """ToolRerank, section 3.2 with m_s = 2, m_u = 4: `known/c` is the second of its tool but stands third."""
    state = bench.fused(["known/a", "new/b", "known/c", "new/d", "new/e"])
    kept = bench.apply(state, Truncate(seen=2, unseen=4), scorer=bench.scorer({}, seen=["known"]))
    assert bench.ids(kept) == ["known/a", "new/b", "new/d"]


def test_unseen_may_be_cut_earlier_than_seen(bench):
    state = bench.fused(["known/a", "new/b", "known/c", "new/d"])
    kept = bench.apply(state, Truncate(seen=3, unseen=1), scorer=bench.scorer({}, seen=["known"]))
    assert bench.ids(kept) == ["known/a", "known/c"]
    assert kept.reasons == {
        "new/b": "cut: rank 2 of the first stage is beyond 1",
        "new/d": "cut: rank 4 of the first stage is beyond 1",
    }


def test_equal_positions_need_no_model(bench):
    kept = bench.apply(bench.fused(["t/a", "t/b", "t/c"]), Truncate(seen=2, unseen=2))
    assert bench.ids(kept) == ["t/a", "t/b"]
    assert Truncate(seen=2, unseen=2).needs() == frozenset()


def test_what_was_fetched_stays(bench):
    state = bench.fused(["t/a", "t/b"], fetched=[bench.candidate("t/late")])
    assert bench.ids(bench.apply(state, Truncate(seen=1, unseen=1))) == ["t/a", "t/late"]


def test_without_a_model_nobody_knows_what_was_seen(bench):
    with pytest.raises(StageUnavailable, match="which tools it has seen"):
        bench.apply(bench.fused(["t/a"]), Truncate())


def test_an_empty_list_stays_empty(bench):
    assert bench.apply(bench.fused([]), Truncate(), scorer=bench.scorer({})).ranked == ()
