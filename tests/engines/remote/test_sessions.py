"""Which sessions count, whatever begins, ends and is killed in whichever order: a model of sets."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.contract import IndexSchema, JobPart
from kitpick_engines.remote.state import CatalogState, IndexState, PartHeld, beaten, begin, end, join

INDEX = "apis-1"
EMPTY = CatalogState(live=INDEX, indexes={INDEX: IndexState(IndexSchema("m", 4, 1))})
JOB = "job zoo in 9 parts"

steps = st.lists(st.tuples(st.sampled_from(["alone", "part", "commit", "abort", "beat"]), st.integers(0, 8)))


def counting(state: CatalogState) -> set[int]:
    """Sessions whose documents a reader sees."""
    index = state.index(INDEX)
    return {number for number in range(1, index.generation + 1) if number not in index.hidden}


@given(steps)
def test_exactly_the_committed_sessions_count(steps):
    state, open_, committed = EMPTY, [], set()
    for step, number in steps:
        if step == "alone" and not open_:
            state = begin(state, INDEX, "token")
            open_ = [state.index(INDEX).begun]
        elif step == "part" and (not open_ or state.writer == JOB):
            state = join(state, INDEX, JOB, PartHeld(str(number), f"token {number}"))
            open_.append(state.index(INDEX).begun)
        elif open_ and step == "beat":
            state = beaten(state, open_[number % len(open_)])
        elif open_ and step in ("commit", "abort"):
            session = open_.pop(number % len(open_))
            state = end(state, INDEX, session, commit=step == "commit")
            committed |= {session} if step == "commit" else set()
        assert counting(state) == committed
        assert set(state.index(INDEX).open) == set(open_)
        assert bool(state.writer) == bool(open_)


@given(st.lists(st.booleans(), min_size=1, max_size=5))
def test_who_takes_over_from_the_dead_counts_none_of_their_sessions(commits):
    state = EMPTY
    for number, _ in enumerate(commits):
        state = join(state, INDEX, JOB, PartHeld(str(number), "token"))
    for number, commit in enumerate(commits, 1):
        if commit:
            state = end(state, INDEX, number, commit=True)
    wanted = counting(state)
    state = end(begin(state, INDEX, "another"), INDEX, len(commits) + 1, commit=True)
    assert counting(state) == wanted | {len(commits) + 1}
    assert (state.writer, state.parts, state.index(INDEX).open) == ("", {}, ())


@given(st.text(max_size=20), st.integers(1, 12))
def test_every_document_belongs_to_one_part(document_id, parts):
    holders = [n for n in range(1, parts + 1) if JobPart("any", n, parts).holds(document_id)]
    assert len(holders) == 1


def test_parts_are_about_equal():
    part = JobPart("any", 1, 4)
    assert 200 < sum(part.holds(f"s/t/{n}") for n in range(1_000)) < 300
