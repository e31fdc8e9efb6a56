"""What the benchmark of chains decides by: halves of requests, where `complete` stands, what a set loses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kitpick_rescorers.profiles import load_profile

sys.path.append(str(Path(__file__).resolve().parents[2] / "benchmarks"))
chains = pytest.importorskip("chains")


def test_halves_are_of_one_size_and_stay_what_they_are() -> None:
    halves = [chains.half_of(f"s{number:03d}") for number in range(1, 501)]
    assert halves.count("a") == 253
    assert "".join(halves[:8]) == "abbaabaa"


@pytest.mark.parametrize(
    ("profile", "behind"), [("kitpick", None), ("hybrid", None), ("chains", None), ("toolrerank", None)]
)
def test_what_is_needed_is_drawn_in_before_the_list_is_cut(profile: str, behind: str | None) -> None:
    stages = [stage.name for stage in chains.chained(load_profile(profile)).stages]
    place = len(stages) - 1 - stages[::-1].index("complete")
    assert stages[place + 1 :][:1] == ([behind] if behind else [])


def test_a_set_that_loses_too_much_is_seen() -> None:
    def of(ndcg: float, recall: float) -> dict[str, list[float]]:
        return {"ndcg@5": [ndcg, 0, 100], "recall@5": [recall, 0, 100]}

    sets = {
        "one": {"profiles": {"p": of(50.0, 60.0), "q": of(49.2, 61.0)}},
        "two": {"profiles": {"p": of(50.0, 60.0), "q": of(50.0, 60.3)}},
    }
    figures = chains.compared(sets, "p", "q")
    assert figures["battery_worst"] == -0.8
    assert figures["battery_one_recall@5_gain"] == 1.0
    assert figures["battery_two_ndcg@5_gain"] == 0.0
