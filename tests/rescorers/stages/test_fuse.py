from __future__ import annotations

from math import isclose

from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_rescorers.stages import Fuse

ranks = st.none() | st.integers(1, 60)
placed = st.lists(st.tuples(ranks, ranks), max_size=12)
weights = st.sampled_from([0.0, 0.5, 1.0, 3.0])


def test_the_sum_of_reciprocal_ranks_orders_the_list(bench):
    state = bench.state(
        [
            bench.candidate("t/lexical", lexical=1),
            bench.candidate("t/both", lexical=2, dense=3),
            bench.candidate("t/dense", dense=1),
        ]
    )
    fused = bench.apply(state, Fuse())
    assert bench.ids(fused) == ["t/both", "t/dense", "t/lexical"]
    assert isclose(fused.ranked[0].score, 1 / 62 + 1 / 63)
    assert fused.reasons["t/both"] == "lexical rank 2 + dense rank 3"


def test_it_needs_the_rankings_that_count():
    assert Fuse().needs() == {"lexical", "dense"}
    assert Fuse(dense=0.0, intent=0.5, sentence=1.0).needs() == {"lexical", "intent", "sentence"}


def test_the_order_that_comes_out_is_the_first_stage_order(bench):
    fused = bench.fused(["t/a", "t/b", "t/c"])
    assert [item.first_rank for item in fused.ranked] == [1, 2, 3]


def test_equal_sums_go_to_the_better_single_rank_then_the_id(bench):
    state = bench.state(
        [
            bench.candidate("t/z", lexical=1, dense=2),
            bench.candidate("t/a", lexical=2, dense=1),
            bench.candidate("t/m", lexical=3, dense=3),
        ]
    )
    assert bench.ids(bench.apply(state, Fuse())) == ["t/a", "t/z", "t/m"]


def test_what_only_a_ranking_of_weight_zero_found_is_dropped(bench):
    state = bench.state([bench.candidate("t/dense", dense=1), bench.candidate("t/lexical", lexical=9)])
    fused = bench.apply(state, Fuse(dense=0.0))
    assert bench.ids(fused) == ["t/lexical"]
    assert fused.reasons["t/dense"] == "cut: only a ranking that does not count here found it"


def test_the_ranking_by_sentences_counts_where_it_has_weight(bench):
    state = bench.state([bench.candidate("t/whole", lexical=1), bench.candidate("t/part", sentence=1)])
    assert bench.ids(bench.apply(state, Fuse())) == ["t/whole"]
    fused = bench.apply(state, Fuse(sentence=2.0))
    assert bench.ids(fused) == ["t/part", "t/whole"]
    assert fused.reasons["t/part"] == "sentence rank 1"


def test_a_share_of_a_score_is_that_of_the_best_of_the_tool(bench):
    names = ["t/first", "u/second", "t/third"]
    state = bench.state([bench.candidate(name, lexical=rank) for rank, name in enumerate(names, start=1)])
    fused = bench.apply(state, Fuse(k=0.0, tool_share=0.5))
    assert bench.ids(fused) == ["t/first", "t/third", "u/second"]
    assert isclose(fused.ranked[1].score, (1 / 3 + 1) / 2)
    assert fused.reasons["t/third"] == "lexical rank 3 + 0.33 for the best of its tool"
    assert [item.first_rank for item in fused.ranked] == [1, 2, 3]


def test_without_places_the_incoming_order_stands(bench):
    state = bench.state([bench.candidate("t/b"), bench.candidate("t/a")])
    assert bench.ids(bench.apply(state, Fuse())) == ["t/b", "t/a"]


def test_fetched_candidates_come_last_and_share_the_rank_after_the_last(bench):
    state = bench.state(
        [bench.candidate("t/a", lexical=1)],
        fetched=[bench.candidate("t/z", dense=1), bench.candidate("t/m")],
    )
    fused = bench.apply(state, Fuse())
    assert [(item.id, item.first_rank) for item in fused.ranked] == [("t/a", 1), ("t/m", 2), ("t/z", 2)]


@settings(deadline=None)
@given(placed, weights, weights, st.sampled_from([0.0, 1.0, 60.0]))
def test_equals_a_brute_force_sum(bench, places, lexical, dense, k):
    candidates = [bench.candidate(f"t/{i:02}", lexical=x, dense=y) for i, (x, y) in enumerate(places)]
    expected = {}
    for c in candidates:
        terms = [
            w / (k + p.rank) for w, p in ((lexical, c.lexical), (dense, c.dense)) if p is not None and w > 0
        ]
        if terms:
            best = min(p.rank for w, p in ((lexical, c.lexical), (dense, c.dense)) if p is not None and w > 0)
            expected[c.id] = (-sum(terms), best, c.id)
    fused = bench.apply(bench.state(candidates), Fuse(lexical=lexical, dense=dense, k=k))
    found = [item.id for item in fused.ranked if item.candidate.lexical or item.candidate.dense]
    assert found == sorted(expected, key=expected.__getitem__)
    assert all(isclose(item.score, -expected[item.id][0]) for item in fused.ranked if item.id in expected)
