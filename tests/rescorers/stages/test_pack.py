from __future__ import annotations

import pytest

from kitpick_rescorers.errors import StageUnavailable
from kitpick_rescorers.stages import Pack
from kitpick_rescorers.state import DefinitionSizes

SIZES = DefinitionSizes("length ÷ 4", {"a/1": 50, "b/1": 60, "c/1": 30, "d/1": 21})


def test_what_does_not_fit_is_skipped_and_smaller_ones_still_fit(bench):
    after = bench.apply(bench.fused(["a/1", "b/1", "c/1", "d/1"], sizes=SIZES), Pack(budget=100))
    assert bench.ids(after) == ["a/1", "c/1"]
    assert after.note == "2 of 4 fit: 80 of 100 tokens by length ÷ 4"
    assert after.reasons["a/1"] == "50 tokens"
    assert after.reasons["b/1"] == "cut: 60 tokens, others are worth more of the budget"


def test_an_unknown_size_could_break_the_budget(bench):
    assert bench.ids(bench.apply(bench.fused(["x/1", "d/1"], sizes=SIZES), Pack(budget=100))) == ["d/1"]


def test_nothing_fits_into_nothing(bench):
    assert bench.ids(bench.apply(bench.fused(["a/1"], sizes=SIZES), Pack(budget=0))) == []


def test_needs_the_sizes(bench):
    with pytest.raises(StageUnavailable, match="how large the definitions are"):
        bench.apply(bench.fused(["a/1"]), Pack(budget=100))
