"""Run files of other systems: scores decide, and what cannot be ordered is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_evaluation.answer import read_run, run_ranker
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.errors import InvalidRun

SCORES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from([0.0, 0.5, 1.0]), min_size=1)


def written(folder: Path, *lines: str) -> Path:
    file = folder / "run.txt"
    file.write_text("\n".join(lines))
    return file


@given(SCORES)
def test_apis_come_by_score_and_ties_by_id(tmp_path_factory: pytest.TempPathFactory, scores: dict) -> None:
    lines = [f"q1 Q0 {api} 0 {score} mine" for api, score in scores.items()]
    found = read_run(written(tmp_path_factory.mktemp("run"), *lines))["q1"]
    assert found == tuple(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def test_a_run_answers_like_a_system(tmp_path: Path) -> None:
    rank = run_ranker(written(tmp_path, "q1 Q0 a 1 0.9 t", "q1 Q0 b 2 0.8 t", "", "q2 Q0 c 1 0.1 t"))
    assert rank(JudgedQuery("q1", "x", frozenset("a")), 1).ids == ("a",)
    assert rank(JudgedQuery("q2", "x", frozenset("a")), 5).scores == (0.1,)
    assert rank(JudgedQuery("q3", "x", frozenset("a")), 5).ids == ()


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("q1 Q0 a 1 nan t", "the score is nan"),
        ("q1 Q0 a 1 inf t", "the score is inf"),
        ("q1 Q0 a 1 high t", "no number"),
        ("q1 a 0.5", "3 fields"),
        ("q1 Q0 b 2 0.4 t", "twice"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    with pytest.raises(InvalidRun, match=rf"run\.txt:2.*{reason}"):
        read_run(written(tmp_path, "q1 Q0 b 1 0.5 t", line))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidRun, match=r"no\.txt"):
        read_run(tmp_path / "no.txt")
