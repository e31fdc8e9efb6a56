from __future__ import annotations

import msgspec
import numpy as np
import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import CrossEncode, Decode, Fuse

QUERY = np.array([3.0, 4.0], dtype=np.float32)
"""0.6 of the first direction and 0.8 of the second."""
AXES = {"a/1": (1.0, 0.0), "b/1": (0.0, 1.0), "c/1": (0.0, -1.0)}


def test_orthogonal_vectors_take_their_share_of_the_query(bench):
    """For orthonormal rows z_i = max(0, d_iᵀq − l1) / (1 + l2): 0.5/2 and 0.7/2; c/1 is −0.45 − 0.1 short."""
    state = bench.fused(list(AXES), AXES | {"c/1": (0.0, 1.0)}, vector=QUERY)
    two = bench.apply(bench.fused(["a/1", "b/1"], AXES, vector=QUERY), Decode(l1=0.1, l2=1.0))
    assert bench.ids(two) == ["b/1", "a/1"]
    assert [item.score for item in two.ranked] == pytest.approx([0.35, 0.25])
    assert two.reasons == {
        "b/1": "chosen with weight 0.35, explains 28% of the query",
        "a/1": "chosen with weight 0.25, explains 15% of the query",
    }
    assert bench.ids(bench.apply(state, Decode()))[-1] == "a/1"


def test_what_was_not_chosen_follows_by_how_near_it_came(bench):
    vectors = {"a/1": (0.0, -1.0), "b/1": (1.0, 0.0), "c/1": (0.6, 0.8)}
    after = bench.apply(bench.fused(list(vectors), vectors, vector=QUERY), Decode(l1=0.5, l2=0.0))
    assert bench.ids(after) == ["c/1", "b/1", "a/1"]
    left = "nearest to what they leave: b/1, a/1"
    assert after.note == f"1 of 3 together reconstruct the query; {left}"
    residual = 0.5 * np.array([0.6, 0.8])
    assert after.ranked[1].score == pytest.approx(residual[0] - 0.5, abs=1e-6)
    assert after.reasons["b/1"] == "not chosen, 0.20 short of it: gives way to c/1 (cosine 0.60)"
    assert after.reasons["a/1"] == "not chosen, 0.90 short of it"


def test_a_set_is_preferred_to_the_same_thing_twice(bench):
    """Dense order would be a/1, a/2, b/1: the second explains what the first left."""
    vectors = {"a/1": (0.90, 0.436), "a/2": (0.89, 0.456), "b/1": (0.0, 1.0)}
    query = np.array([0.95, 0.312], dtype=np.float32)
    state = bench.fused(list(vectors), {**vectors, "b/1": (0.6, -0.8)}, vector=query)
    assert bench.ids(bench.apply(state, Decode(l1=0.05, l2=0.0)))[:2] == ["a/1", "b/1"]


def test_equal_rows_without_ridge_leave_the_weight_with_the_better_first_stage_rank(bench):
    vectors = {"b/1": (0.6, 0.8), "a/1": (0.6, 0.8)}
    after = bench.apply(bench.fused(list(vectors), vectors, vector=QUERY), Decode(l2=0.0))
    assert bench.ids(after) == ["b/1", "a/1"]
    assert after.note.startswith("1 of 2")


def test_a_relevant_row_pays_a_smaller_penalty(bench):
    vectors = {"a/1": (1.0, 0.0), "b/1": (0.0, 1.0)}
    scorer = bench.scorer({"a/1": 2.0, "b/1": -2.0})
    state = bench.fused(list(vectors), vectors, vector=QUERY)
    after = bench.apply(state, CrossEncode(), Decode(l1=0.3, l2=1.0, relevance=0.1), scorer=scorer)
    assert bench.ids(after) == ["a/1", "b/1"]
    assert [item.score for item in after.ranked] == pytest.approx([(0.6 - 0.1) / 2, (0.8 - 0.5) / 2])


def test_words_that_nobody_explains_are_named_and_lead_to_who_does(bench):
    """Both vectors say the same; only the words tell that the second API is still wanted."""
    candidates = [
        bench.candidate("a/1", lexical=1, vector=(1.0, 0.0), text="weather forecast"),
        bench.candidate("a/2", lexical=2, vector=(0.999, 0.045), text="weather forecast today"),
        bench.candidate("b/1", lexical=3, vector=(0.9, 0.436), text="currency rates"),
    ]
    state = bench.state(candidates, vector=np.array([1.0, 0.0], dtype=np.float32))
    state = msgspec.structs.replace(
        bench.apply(state, Fuse()), query="weather forecast and currency in rupees"
    )
    dense = bench.apply(state, Decode(l1=0.2, l2=0.1))
    hybrid = bench.apply(state, Decode(l1=0.2, l2=0.1, dense_share=0.5))
    assert bench.ids(dense)[:2] == ["a/1", "a/2"]
    assert bench.ids(hybrid)[:2] == ["a/1", "b/1"]
    assert "words they leave" not in dense.note
    assert hybrid.note.partition("words they leave: ")[2].split(", ") == ["currency", "weather", "forecast"]


def test_with_words_the_dense_part_of_the_residual_is_searched_for(bench):
    state = bench.fused(["a/1"], AXES, vector=QUERY)
    need = bench.apply(state, Decode(l1=0.1, l2=0.0, dense_share=0.5, neighbours=7)).need
    assert need.neighbours.array.shape == (2,)
    assert need.neighbours.array[1] == pytest.approx(0.8)


def test_the_certificate_is_in_the_trace(bench):
    after = bench.apply(bench.fused(list(AXES), AXES, vector=QUERY), Decode())
    assert after.details["violation"] <= 1e-6
    assert 0 <= after.details["gap"] <= 1e-6
    assert 0 < after.details["residual"] < 1


def test_the_neighbours_of_the_residual_are_asked_for(bench):
    after = bench.apply(bench.fused(["a/1"], AXES, vector=QUERY), Decode(l1=0.1, l2=0.0, neighbours=7))
    assert after.need.neighbours.k == 7 + 1
    assert after.need.neighbours.array == pytest.approx([0.1, 0.8])
    assert bench.apply(bench.fused(["a/1"], AXES, vector=QUERY), Decode()).need.neighbours is None


def test_fetched_columns_take_part_beyond_the_bound(bench):
    late = [bench.candidate("z/1", vector=(0.0, 1.0))]
    state = bench.fused(["a/1", "a/2"], AXES | {"a/2": (0.0, -1.0)}, vector=QUERY, fetched=late)
    assert bench.ids(bench.apply(state, Decode(candidates=1))) == ["z/1", "a/1", "a/2"]


def test_unusable_vectors_are_not_chosen_and_are_named(bench):
    vectors = {"a/1": (np.inf, 0.0), "b/1": (0.0, 1.0)}
    after = bench.apply(bench.fused(list(vectors), vectors, vector=QUERY), Decode())
    assert bench.ids(after) == ["b/1", "a/1"]
    assert after.degraded[0].reason == "1 candidates without a usable vector"


def test_needs_a_query_vector_and_with_relevance_scores(bench):
    with pytest.raises(StageUnavailable, match="no usable query vector"):
        bench.apply(bench.fused(["a/1"]), Decode())
    with pytest.raises(StageUnavailable, match="no cross-encoder scores"):
        bench.apply(bench.fused(["a/1"], vector=QUERY), Decode(relevance=0.1))


def test_an_optional_one_is_left_out_without_vectors_and_nothing_is_degraded(bench):
    bare = bench.fused(["a/1", "b/1"], {"a/1": (), "b/1": ()}, vector=QUERY)
    assert Decode(optional=True).reason_to_skip(bare) == "no candidate brings a vector"
    assert Decode().reason_to_skip(bare) == ""
    assert Decode(optional=True).reason_to_skip(bench.fused(["a/1", "b/1"], AXES, vector=QUERY)) == ""
    assert Decode(optional=True).reason_to_skip(bench.fused([])) == "there are no candidates"


def test_relevance_without_ridge_is_refused_when_the_profile_is_read():
    with pytest.raises(msgspec.ValidationError, match="needs `l2` > 0"):
        msgspec.convert({"stage": "decode", "relevance": 0.1, "l2": 0.0}, Decode)
