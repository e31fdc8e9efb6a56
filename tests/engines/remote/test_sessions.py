"""Which sessions count, whatever begins, ends and is killed in whichever order: a model of sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.contract import IndexSchema
from kitpick_engines.remote.state import CatalogState, IndexState, beaten, begin, end

INDEX = "apis-1"
EMPTY = CatalogState(live=INDEX, indexes={INDEX: IndexState(IndexSchema("m", 4, 1))})

steps = st.lists(st.sampled_from(["begin", "commit", "abort", "beat"]))


def counting(state: CatalogState) -> set[int]:
    """Sessions whose documents a reader sees."""
    index = state.index(INDEX)
    return {number for number in range(1, index.generation + 1) if number not in index.hidden}


@given(steps)
def test_exactly_the_committed_sessions_count(steps):
    state, open_, committed = EMPTY, 0, set()
    for step in steps:
        if step == "begin":  # also in place of one that was killed
            state = begin(state, INDEX, "token")
            open_ = state.index(INDEX).begun
        elif open_ and step == "beat":
            state = beaten(state)
        elif open_ and step in ("commit", "abort"):
            state = end(state, INDEX, open_, commit=step == "commit")
            committed |= {open_} if step == "commit" else set()
            open_ = 0
        assert counting(state) == committed
        assert state.index(INDEX).open == ((open_,) if open_ else ())
        assert bool(state.writer) == bool(open_)


def test_no_aborted_session_is_forgotten_before_another_has_cleaned_up_behind_it():
    """As where a disk is full for a day, and every attempt ends before it can remove anything."""
    state = EMPTY
    for _ in range(300):
        state = begin(state, INDEX, "token")
    assert state.index(INDEX).aborted == tuple(range(1, 300))
    state = end(state, INDEX, 300, commit=True)
    assert state.index(INDEX).aborted == tuple(range(100, 300))
