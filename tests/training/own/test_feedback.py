"""What demonstrations are worth to a model: asked once, kept, and read again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import CapReached
from kitpick_training.own.demorank import Demonstration
from kitpick_training.own.feedback import InvalidFeedback, ModelFeedback
from kitpick_training.own.likelihood import Likelihoods

SHOTS = [Demonstration(f"request {number}", "a", True, f"tool {number}") for number in range(3)]


class Counting:
    """More sure of Yes with each demonstration; says nothing after three."""

    identity = "counting"

    def __init__(self) -> None:
        self.calls = 0

    def likelihoods(self, messages: Any, answers: Any, *, seconds: float) -> Likelihoods:
        self.calls += 1
        shown = sum(message.role == "assistant" for message in messages)
        return Likelihoods((0.0, 0.0) if shown == 3 else (0.5 + shown / 10, 0.5 - shown / 10), 1, 1)


def feedback(file: Path, model: Counting, name: str = "counting", calls: int = 99) -> ModelFeedback:
    return ModelFeedback(CallMeter(model, Caps(9.0, calls, 10**6, 1.0, 0)), name, file)


def test_the_value_is_the_probability_of_the_right_answer(tmp_path: Path) -> None:
    made = feedback(tmp_path / "answers.jsonl", Counting())
    sequences = [[], SHOTS[:1], SHOTS[:2], SHOTS]
    assert made.values(Demonstration("q", "a", True, "t"), sequences) == pytest.approx([0.5, 0.6, 0.7, 0.0])
    assert made.values(Demonstration("q", "a", False, "t"), sequences) == pytest.approx([0.5, 0.4, 0.3, 0.0])


def test_nothing_is_asked_twice_not_even_by_the_next_run(tmp_path: Path) -> None:
    model, file = Counting(), tmp_path / "run" / "answers.jsonl"
    question = Demonstration("q", "a", True, "t")
    first = feedback(file, model).values(question, [SHOTS[:1], SHOTS[1:2], SHOTS])
    with file.open("a") as cut_off:
        cut_off.write('{"key": "ab')
    assert feedback(file, model).values(question, [SHOTS[:1], SHOTS[1:2], SHOTS]) == first
    assert model.calls == 3
    feedback(file, model, "another").values(question, [SHOTS[:1]])
    assert model.calls == 4


def test_the_order_of_demonstrations_is_part_of_the_question(tmp_path: Path) -> None:
    model = Counting()
    made = feedback(tmp_path / "answers.jsonl", model)
    made.values(Demonstration("q", "a", True, "t"), [SHOTS[:2], SHOTS[1::-1]])
    assert model.calls == 2


def test_what_was_answered_before_a_cap_is_kept(tmp_path: Path) -> None:
    file = tmp_path / "answers.jsonl"
    question = Demonstration("q", "a", True, "t")
    with pytest.raises(CapReached):
        feedback(file, Counting(), calls=2).values(question, [[], SHOTS[:1], SHOTS[:2]])
    assert len(file.read_text().splitlines()) == 2


def test_a_file_that_is_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "answers.jsonl").write_text("a diary\n")
    with pytest.raises(InvalidFeedback, match=r"answers\.jsonl: not a file of answers"):
        feedback(tmp_path / "answers.jsonl", Counting())
