"""Lists for DRetriever and DReranker."""

from __future__ import annotations

from kitpick_training.own.demonstrations import reranker_lists, retriever_list
from kitpick_training.own.demorank import Demonstration, demonstration_text, question_text

QUESTION = Demonstration("weather in Rome", "w/now", True, "weather: now")
SHOWN = [Demonstration(f"request {number}", "a", number % 2 == 0, f"tool {number}") for number in range(4)]
TEXTS = [demonstration_text(item) for item in SHOWN]


def test_alone_each_is_graded_by_what_it_was_worth() -> None:
    made = retriever_list(QUESTION, SHOWN, [0.2, 0.9, 0.9, 0.1])
    assert made.text == question_text("weather in Rome", "weather: now")
    assert (list(made.texts), made.grades) == (TEXTS, (0.2, 0.9, 0.9, 0.1))
    assert made.right == {TEXTS[1]}


def test_the_first_list_of_a_sequence_is_the_paper_s() -> None:
    first, *_ = reranker_lists(QUESTION, SHOWN, [2, 0])
    assert first.text == question_text("weather in Rome", "weather: now")
    assert (list(first.texts), first.grades) == (TEXTS, (1.0, 0.0, 2.0, 0.0))


def test_the_others_know_what_was_chosen_and_do_not_offer_it_again() -> None:
    _, second = reranker_lists(QUESTION, SHOWN, [2, 0])
    assert second.text.endswith(TEXTS[2])
    assert second.texts == (TEXTS[0], TEXTS[1], TEXTS[3])
    assert (second.grades, second.right) == ((1.0, 0.0, 0.0), {TEXTS[0]})
