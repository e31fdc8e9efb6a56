"""The learned fusion orders near candidates by a ranker, says why, and abstains by the whole list."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.pipeline import run_stage
from kitpick_rescorers.scoring import isotonic
from kitpick_rescorers.stages import CrossEncode, Learned

QUERY = np.array([1.0, 0.0], dtype=np.float32)


@pytest.fixture
def state(bench):
    """Three near candidates and one that is far down every ranking."""
    return bench.state(
        [
            bench.candidate("files/copy", lexical=1, dense=3, vector=(0.6, 0.8)),
            bench.candidate("files/move", lexical=2, dense=1, vector=(1.0, 0.0)),
            bench.candidate("mail/send", lexical=3, dense=2, vector=(0.8, 0.6)),
            bench.candidate("mail/far", lexical=180, dense=170, vector=(0.0, 1.0)),
        ],
        vector=QUERY,
    )


def ids(state):
    return [item.id for item in state.ranked]


def test_near_candidates_follow_the_ranker_and_the_others_follow_them(bench, state):
    after = bench.apply(state, Learned(), ranker=bench.ranker())
    assert ids(after) == ["files/move", "mail/send", "files/copy", "mail/far"]
    probabilities = [item.probability for item in after.ranked[:3]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert after.ranked[3].probability is None
    assert not after.abstained


def test_it_reads_the_features_that_the_ranker_names_in_that_order(bench, state):
    by_words = bench.apply(state, Learned(), ranker=bench.ranker(("lexical_rank",)))
    assert ids(by_words)[:3] == ["files/copy", "files/move", "mail/send"]


def test_it_abstains_where_the_list_as_a_whole_does_not_answer(bench, state):
    ranker = bench.ranker(answerable=0.2)
    after = bench.apply(state, Learned(), ranker=ranker)
    assert "0.20" in after.abstained
    assert ids(after)[0] == "files/move", "the list does not change"
    assert ranker.seen.tolist() == [1.0, 1.0], "the best logit, and one word of the request"
    assert not bench.apply(state, Learned(threshold=0.1), ranker=ranker).abstained
    assert not bench.apply(state, Learned(abstains=False), ranker=ranker).abstained


def test_without_a_verdict_it_orders_and_leaves_probabilities_alone(bench, state):
    after = bench.apply(state, Learned(abstains=False), ranker=bench.ranker())
    assert ids(after)[0] == "files/move"
    assert [item.probability for item in after.ranked] == [None] * 4


def test_reasons_name_places_and_the_cross_encoder(bench, state):
    scorer = bench.scorer({"files/copy": 2.0, "files/move": 1.0, "mail/send": 0.0, "mail/far": -1.0})
    read = bench.apply(state, CrossEncode(candidates=3), scorer=scorer)
    after = bench.apply(read, Learned(), ranker=bench.ranker())
    assert after.reasons["files/copy"] == (
        "dense rank 3, words rank 1, cross-encoder rank 1, best of its tool"
    )
    assert "best of its tool" not in after.reasons["files/move"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "no list ranker is loaded"),
        ({"ranker": {"features": ("luck",)}}, "unknown features: luck"),
        ({"ranker": {"evidence": ("mood",)}}, "unknown features: mood"),
        ({"ranker": {"answerable": float("nan")}}, "no probability"),
    ],
)
def test_what_cannot_rank_is_left_out_with_the_reason(bench, state, changes, reason):
    models = {name: bench.ranker(**given) for name, given in changes.items()}
    with pytest.raises(StageUnavailable, match=reason):
        bench.apply(state, Learned(), **models)


def test_a_request_without_a_vector_keeps_its_order_and_says_so(bench):
    bare = bench.state([bench.candidate("a/1", lexical=1), bench.candidate("a/2", lexical=2)])
    after = run_stage(Learned(), bare, bench.models(ranker=bench.ranker()))
    assert ids(after) == ["a/1", "a/2"]
    assert "vector" in after.degraded[0].reason


def test_an_optional_one_is_silent_where_a_caller_sends_texts_alone(bench):
    bare = bench.state([bench.candidate("a/1", lexical=1), bench.candidate("a/2", lexical=2)])
    after = run_stage(Learned(optional=True), bare, bench.models(ranker=bench.ranker()))
    assert ids(after) == ["a/1", "a/2"]
    assert not after.degraded
    assert "dense ranking" in after.trace[-1].skipped


def test_an_optional_one_needs_the_cross_encoder(bench, state):
    """It learned from lists with logits: without any, the fused order is the better one."""
    after = run_stage(Learned(optional=True), state, bench.models(ranker=bench.ranker()))
    assert ids(after) == ids(state)
    assert "scored nothing" in after.trace[-1].skipped


def test_an_optional_one_is_left_out_where_no_ranker_learned_with_these_models(bench, state):
    scored = bench.apply(state, CrossEncode(), scorer=bench.scorer(dict.fromkeys(ids(state), 1.0)))
    after = run_stage(Learned(optional=True), scored, bench.models())
    assert ids(after) == ids(scored)
    assert not after.degraded
    assert "learned with these models" in after.trace[-1].note


def test_an_optional_one_runs_where_its_evidence_is_there(bench, state):
    scored = bench.apply(state, CrossEncode(), scorer=bench.scorer(dict.fromkeys(ids(state), 1.0)))
    after = run_stage(Learned(optional=True), scored, bench.models(ranker=bench.ranker()))
    assert not after.trace[-1].skipped
    assert ids(after)[0] == "files/move"


def test_an_earlier_verdict_stays(bench, state):
    doubted = replace(state, abstained="the best probability 0.01 is below 0.05")
    after = bench.apply(doubted, Learned(), ranker=bench.ranker())
    assert after.abstained == doubted.abstained
    assert [item.probability for item in after.ranked] == [None] * 4, (
        "and so do the probabilities it is about"
    )


def test_one_that_overrules_decides_in_place_of_an_earlier_verdict(bench, state):
    doubted = replace(state, abstained="the best probability 0.01 is below 0.05")
    likely = bench.apply(doubted, Learned(overrules=True, threshold=0.1), ranker=bench.ranker())
    assert likely.abstained == ""
    assert likely.ranked[0].probability is not None
    refused = bench.apply(doubted, Learned(overrules=True, threshold=1.0), ranker=bench.ranker())
    assert "threshold 1.00" in refused.abstained
    silent = bench.apply(doubted, Learned(overrules=True, abstains=False), ranker=bench.ranker())
    assert silent.abstained == doubted.abstained, "it gives no verdict that could stand in its place"
    left_out = run_stage(Learned(overrules=True, optional=True), doubted, bench.models())
    assert left_out.abstained == doubted.abstained


def test_a_prior_keeps_part_of_the_order_in_which_the_list_comes(bench, state):
    """The ranker alone puts the first one third, see above."""
    after = bench.apply(state, Learned(prior=20.0), ranker=bench.ranker())
    assert ids(after)[:3] == ids(state)[:3]
    assert bench.apply(state, Learned(prior=0.0), ranker=bench.ranker()).ranked[0].id == "files/move"


def test_the_cosine_counts_as_much_as_it_is_told_to(bench, state):
    ranker = bench.ranker(("lexical_rank",))
    plain = bench.apply(state, Learned(), ranker=ranker)
    assert ids(plain)[:3] == ["files/copy", "files/move", "mail/send"]
    after = bench.apply(state, Learned(cosine=20.0), ranker=ranker)
    assert ids(after)[:3] == ["files/move", "mail/send", "files/copy"]
    assert after.details == plain.details, "the verdict on the list stays the ranker's"


def test_a_candidate_without_a_vector_has_the_mean_cosine_of_the_others(bench, state):
    ranker = bench.ranker(("lexical_rank",))
    first = state.ranked[0]
    lost = replace(first, candidate=replace(first.candidate, vector=np.zeros(0, np.float32)))
    after = bench.apply(replace(state, ranked=(lost, *state.ranked[1:])), Learned(cosine=20.0), ranker=ranker)
    plain = bench.apply(state, Learned(), ranker=ranker)
    before, now = ({item.id: item.score for item in each.ranked[:3]} for each in (plain, after))
    gained = {id_: now[id_] - before[id_] for id_ in before}
    of_it = gained.pop(lost.id)
    assert of_it > 0
    assert of_it == pytest.approx(np.mean(list(gained.values())))


def test_associations_put_forward_what_people_ask_for_by_other_words(bench):
    found = [
        bench.candidate("books/create", lexical=1, dense=1, text="create a customer"),
        bench.candidate("books/issue", lexical=2, dense=2, text="create an invoice"),
    ]
    state = replace(bench.state(found, vector=QUERY), query="how do I bill a customer")
    ranker = bench.ranker()
    assert ids(bench.apply(state, Learned(prior=1.0), ranker=ranker)) == ["books/create", "books/issue"]
    after = bench.apply(state, Learned(prior=1.0, associations=5.0), ranker=ranker)
    assert ids(after) == ["books/issue", "books/create"]
    elsewhere = replace(state, query="xyzzy")
    assert ids(bench.apply(elsewhere, Learned(associations=5.0), ranker=ranker))[0] == "books/create"


def test_how_sure_a_candidate_is_can_be_fitted_to_a_catalog(bench, state):
    plain = bench.apply(state, Learned(), ranker=bench.ranker())
    fitted = bench.apply(state, Learned(sure_scale=2.0, sure_shift=-1.0), ranker=bench.ranker())
    assert ids(fitted) == ids(plain)
    for item in fitted.ranked[:3]:
        assert item.probability == pytest.approx(1 / (1 + np.exp(1.0 - 2.0 * item.score)), abs=1e-6)
    assert fitted.details == plain.details, "the verdict on the list stays the ranker's"


def test_probabilities_never_rise_down_the_list(bench, state):
    after = bench.apply(state, Learned(prior=20.0), ranker=bench.ranker())
    probabilities = [item.probability for item in after.ranked[:3]]
    assert probabilities == sorted(probabilities, reverse=True)


@settings(deadline=None)
@given(st.lists(st.floats(0.0, 1.0), max_size=30))
def test_falling_values_are_those_of_isotonic_regression(values):
    """Against scikit-learn, which solves the same least squares."""
    regression = pytest.importorskip("sklearn.isotonic").isotonic_regression
    found = isotonic(np.array(values))
    expected = regression(values, increasing=False) if values else []
    np.testing.assert_allclose(found, expected, atol=1e-9)
