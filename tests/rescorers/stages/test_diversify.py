"""Algorithm 2 of ToolRerank, worked by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_rescorers.stages import CrossEncode, Diversify
from kitpick_rescorers.stages.hierarchy import components

EAST, NORTH, WEST = (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0)
NEARLY_EAST = (0.9, 0.1)


def test_at_most_n_of_each_component_come_first(bench):
    """n = 2. Edges: a/1–a/2 (tool), a/1–b/1, a/2–b/1 (cosine 0.99): groups {a/1, a/2, b/1}, {c/1}, {d/1}."""
    vectors = {"a/1": EAST, "a/2": EAST, "b/1": NEARLY_EAST, "c/1": NORTH, "d/1": WEST}
    state = bench.fused(["a/1", "b/1", "a/2", "c/1", "d/1"], vectors)
    after = bench.apply(state, Diversify(similarity=0.8, per_component=2))
    assert bench.ids(after) == ["a/1", "b/1", "c/1", "d/1", "a/2"]
    assert after.reasons["a/2"] == "number 3 of group 1"
    assert after.note == "3 groups"


def test_likeness_is_passed_on_through_the_graph(bench):
    """60° steps: neighbours have cosine 0.5, the ends −0.5, yet all three are one component."""
    angles = {"a/1": 0.0, "b/1": np.pi / 3, "c/1": np.pi / 1.5}
    vectors = {name: (np.cos(angle), np.sin(angle)) for name, angle in angles.items()}
    after = bench.apply(bench.fused(list(vectors), vectors), Diversify(similarity=0.4, per_component=1))
    assert after.note == "1 groups"


def test_the_threshold_itself_is_no_edge(bench):
    vectors = {"a/1": EAST, "b/1": NORTH}
    assert bench.apply(bench.fused(list(vectors), vectors), Diversify(similarity=0.0)).note == "2 groups"


def test_one_tool_is_one_group_however_different_its_apis(bench):
    vectors = {"a/1": EAST, "a/2": WEST, "b/1": NORTH}
    after = bench.apply(bench.fused(list(vectors), vectors), Diversify(per_component=1))
    assert bench.ids(after) == ["a/1", "b/1", "a/2"]


def test_only_what_was_scored_takes_part(bench):
    vectors = {"a/1": EAST, "a/2": EAST, "b/1": NORTH}
    scorer = bench.scorer({"a/1": 2.0, "a/2": 1.0})
    state = bench.fused(["a/1", "a/2", "b/1"], vectors)
    after = bench.apply(state, CrossEncode(candidates=2), Diversify(per_component=1), scorer=scorer)
    assert bench.ids(after) == ["a/1", "a/2", "b/1"]


def test_unusable_vectors_are_like_nothing_and_are_named(bench):
    vectors = {"a/1": EAST, "b/1": (np.nan, 0.0), "c/1": (0.0, 0.0), "d/1": (1.0, 0.0, 0.0)}
    after = bench.apply(bench.fused(list(vectors), vectors), Diversify())
    assert after.note == "4 groups"
    assert after.degraded[0].reason == "3 candidates without a usable vector"


@st.composite
def graphs(draw):
    """Number of vertices, and edges between them."""
    size = draw(st.integers(1, 9))
    vertex = st.integers(0, size - 1)
    return size, draw(st.lists(st.tuples(vertex, vertex), max_size=12))


@settings(deadline=None)
@given(graphs())
def test_components_equal_merging_of_sets(graph):
    size, edges = graph
    adjacency = np.zeros((size, size), dtype=bool)
    groups = [frozenset({vertex}) for vertex in range(size)]
    for one, other in edges:
        adjacency[one, other] = adjacency[other, one] = True
        joined = next(g for g in groups if one in g) | next(g for g in groups if other in g)
        groups = [g for g in groups if not g & joined] + [joined]
    label = np.array(components(adjacency))
    assert {frozenset(np.flatnonzero(label == number).tolist()) for number in label} == set(groups)
    assert list(dict.fromkeys(label)) == sorted(set(label))
