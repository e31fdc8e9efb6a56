"""Lists that DRetriever and DReranker learn from, out of what a language model made of demonstrations."""

from __future__ import annotations

from collections.abc import Sequence

from toolrank_evaluation.training_sets.graded import GradedRequest
from toolrank_rescorers.demorank.greedy import greedy_grades
from toolrank_rescorers.demorank.pool import Demonstration
from toolrank_rescorers.demorank.texts import demonstration_text, question_after, question_text


def retriever_list(
    question: Demonstration, candidates: Sequence[Demonstration], values: Sequence[float]
) -> GradedRequest:
    """A question with demonstrations, graded by what each alone was worth; the best one counts as right."""
    texts = tuple(demonstration_text(item) for item in candidates)
    best = texts[max(range(len(texts)), key=values.__getitem__)]
    asked = question_text(question.query, question.text)
    return GradedRequest(asked, texts, tuple(values), frozenset([best]))


def reranker_lists(
    question: Demonstration, candidates: Sequence[Demonstration], chosen: Sequence[int]
) -> list[GradedRequest]:
    """One list for each demonstration of a greedy sequence: what is chosen next, after those before it.

    The first is the paper's training list: the k chosen ones labelled k … 1, the rest 0. The others hold
    what was not chosen yet, with the same labels; right is what was chosen next.
    """
    grades = greedy_grades(chosen, len(candidates))
    texts = [demonstration_text(item) for item in candidates]
    lists = []
    for step, following in enumerate(chosen):
        before = [candidates[place] for place in chosen[:step]]
        rest = [place for place in range(len(candidates)) if place not in chosen[:step]]
        lists.append(
            GradedRequest(
                question_after(question.query, question.text, before),
                tuple(texts[place] for place in rest),
                tuple(grades[place] for place in rest),
                frozenset([texts[following]]),
            )
        )
    return lists
