"""Which definitions a model sees: only appended, bounded, evicted at boundaries alone."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick.exposure import Exposure
from kitpick_engines.document import ApiDocument
from kitpick_foundation.errors import InvalidSetting


def tool(name: str, size: int = 10) -> ApiDocument:
    """`description` holds the size that `exposure` reads."""
    return ApiDocument(id=name, source="s", category="c", tool="t", api=name, description=str(size))


def exposure(*pinned: ApiDocument, most: int = 40, keep: float = 0.5) -> Exposure:
    return Exposure(pinned, most=most, keep=keep, size=lambda document: int(document.description))


def names(shown: Exposure) -> list[str]:
    return [document.id for document in shown.shown]


def test_what_is_found_is_appended_and_nothing_before_it_moves() -> None:
    shown = exposure(tool("pinned"))
    assert not shown.show([tool("a"), tool("b")]).boundary
    again = shown.show([tool("b"), tool("c"), tool("pinned")])
    assert [document.id for document in again.appended] == ["c"]
    assert names(shown) == ["pinned", "a", "b", "c"]


def test_what_was_used_longest_ago_makes_room_at_a_boundary() -> None:
    shown = exposure(tool("pinned", 1_000))
    shown.show([tool("a"), tool("b"), tool("c"), tool("d")])
    shown.use("a")
    assert shown.show([tool("e")]).boundary
    assert names(shown) == ["pinned", "a", "b", "e"]


def test_a_cache_that_is_lost_anyway_is_a_boundary() -> None:
    shown = exposure()
    shown.show([tool("a"), tool("b"), tool("c")])
    shown.boundary()
    assert names(shown) == ["a", "b"]
    shown.boundary()
    assert names(shown) == ["a", "b"]


def test_what_is_larger_than_the_bound_is_left_out() -> None:
    shown = exposure()
    shown.show([tool("a")])
    assert shown.show([tool("huge", 41), tool("b")]).appended == (tool("b"),)
    assert names(shown) == ["a", "b"]


def test_what_is_found_again_stays_at_the_boundary_that_its_company_makes() -> None:
    shown = exposure(keep=0.0)
    shown.show([tool("a"), tool("b"), tool("c"), tool("d")])
    assert shown.show([tool("d"), tool("e")]).boundary
    assert names(shown) == ["d", "e"]


def test_sizes_are_those_of_the_definitions() -> None:
    shown = Exposure(most=1_000)
    shown.show([tool("a")])
    assert 10 < shown.tokens < 100


@pytest.mark.parametrize(("most", "keep"), [(0, 0.5), (10, -0.1), (10, 1.1)])
def test_bounds_out_of_their_range_are_refused(most: int, keep: float) -> None:
    with pytest.raises(InvalidSetting, match="`most` must be at least 1"):
        Exposure(most=most, keep=keep)


@settings(deadline=None)
@given(
    st.lists(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 60)), max_size=6), max_size=12),
    st.floats(0, 1),
)
def test_without_a_boundary_the_list_only_grows(turns: list[list[tuple[int, int]]], keep: float) -> None:
    shown = exposure(keep=keep)
    for turn in turns:
        before = names(shown)
        outcome = shown.show([tool(str(name), size) for name, size in turn])
        assert shown.tokens <= 40
        if turn and turn[0][1] <= 40 and str(turn[0][0]) not in before:
            assert str(turn[0][0]) in names(shown)
        appended = [document.id for document in outcome.appended]
        assert names(shown)[len(names(shown)) - len(appended) :] == appended
        if not outcome.boundary:
            assert names(shown) == before + appended
