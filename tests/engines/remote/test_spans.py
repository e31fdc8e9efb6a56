"""Spans of time as settings of a search server have them, and the one that holds."""

from __future__ import annotations

from typing import Any, cast

import pytest

from kitpick_engines.errors import EngineUnavailable
from kitpick_engines.remote.server import SearchServer
from kitpick_engines.remote.setup import deadline, followed, seconds_of


class Said:
    """A server with these settings, by level; without any it refuses to say."""

    def __init__(self, levels: dict[str, str] | None) -> None:
        self._levels = levels

    def call(self, method: str, path: str, patience: float) -> Any:
        if self._levels is None:
            raise EngineUnavailable("no permissions")
        assert (method, path.partition("?")[0]) == ("GET", "/_cluster/settings")
        return {level: {"kitpick": {"deadline": value}} for level, value in self._levels.items()}


@pytest.mark.parametrize(
    ("levels", "seconds"),
    [
        ({"defaults": "0s"}, 0.0),
        ({"defaults": "0s", "persistent": "0"}, 0.0),
        ({"defaults": "1s"}, 1.0),
        ({"defaults": "1s", "persistent": "2s"}, 2.0),
        ({"defaults": "1s", "persistent": "2s", "transient": "250ms"}, 0.25),
        ({}, None),
        (None, None),
    ],
)
def test_the_deadline_that_holds_is_found(levels: dict[str, str] | None, seconds: float | None) -> None:
    assert deadline(cast(SearchServer, Said(levels))) == seconds


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("1s", 1.0), ("250ms", 0.25), ("1.5s", 1.5), ("2m", 120.0), ("1h", 3_600.0), ("500micros", 5e-4)],
)
def test_a_span_is_read(value: str, seconds: float) -> None:
    assert seconds_of(value) == pytest.approx(seconds)


@pytest.mark.parametrize(("search", "seconds"), [(0.0, 1.0), (0.09, 1.0), (0.6, 4.8), (900.0, 5.0)])
def test_a_deadline_that_nobody_set_follows_the_rescorer(search: float, seconds: float) -> None:
    """As `RescorerTests.testADeadlineThatNobodySetFollowsTheService` has it."""
    assert followed(search) == pytest.approx(seconds)


@pytest.mark.parametrize("value", ["", "-1", "1", "s", "1 s", "one second", "1y"])
def test_what_is_none_says_nothing(value: str) -> None:
    assert seconds_of(value) is None
