"""What the benchmark of chains decides by: halves of requests, where `complete` stands, what a set loses."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.stages import Complete

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


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., list[Any]]:
    """Runs the part `battery`: what it asks of the battery, in which every set gains a point."""
    runs: list[Any] = []

    def battery(run: Any, progress: object) -> dict[str, Any]:
        runs.append(run)
        figures = {
            name: {"ndcg@5": [n, 0, 100], "recall@5": [n, 0, 100]} for n, name in enumerate(run.profiles)
        }
        return {"sets": {name: {"profiles": figures} for name in run.sets}}

    def ask(*words: str) -> list[Any]:
        runs.clear()
        monkeypatch.setattr(sys, "argv", ["chains", "--part", "battery", "--data", str(tmp_path), *words])
        chains.main()
        return list(runs)

    (tmp_path / "openapi").mkdir()
    monkeypatch.setattr(chains, "battery", battery)
    return ask


def test_the_battery_compares_the_default_with_itself_and_complete(
    asked: Callable[..., list[Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    runs = asked("--sets", "metatool,bfcl", "--limit", "3")
    assert [run.sets for run in runs] == [("metatool",), ("bfcl",)]
    assert {run.limit for run in runs} == {3}
    plain, with_it = runs[0].profiles.values()
    default = [each for each in load_profile("kitpick").stages if each.name != "abstain"]
    assert list(plain.stages) == default, "abstaining changes no order"
    assert list(with_it.stages) == [*default, Complete()]
    figures = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert figures["battery_bfcl_ndcg@5_gain"] == figures["battery_worst"] == 1.0
    assert figures["battery_sets"] == 2


def test_the_battery_is_bounded(asked: Callable[..., list[Any]], capsys: pytest.CaptureFixture[str]) -> None:
    assert [run.limit for run in asked("--sets", "bfcl")] == [150], "where nobody says otherwise"
    assert not asked("--sets", "bfcl", "--minutes", "-1")
    out = capsys.readouterr().out
    assert "bfcl is not asked" in out
    assert json.loads(out.splitlines()[-1])["battery_sets"] == 0
