"""Spans of time as settings of a search server have them."""

from __future__ import annotations

import pytest

from kitpick_engines.remote.setup import seconds_of


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("1s", 1.0), ("250ms", 0.25), ("1.5s", 1.5), ("2m", 120.0), ("1h", 3_600.0), ("500micros", 5e-4)],
)
def test_a_span_is_read(value: str, seconds: float) -> None:
    assert seconds_of(value) == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["", "-1", "1", "s", "1 s", "one second", "1y"])
def test_what_is_none_says_nothing(value: str) -> None:
    assert seconds_of(value) is None
