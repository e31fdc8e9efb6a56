"""Greedy sequences: what algorithm 1 of the paper says, read word by word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kitpick_training.own.feedback import greedy_grades, greedy_sequence

counts = st.integers(0, 7)


def worth(seed: int, sequence: tuple[int, ...]) -> int:
    """Any function of a sequence, in its order, with many ties."""
    return hash((seed, *sequence)) % 5


@given(counts, counts, st.integers(0, 10**6))
def test_it_is_the_algorithm_of_the_paper(count: int, length: int, seed: int) -> None:
    candidates, chosen, labels = list(range(count)), [], {}
    for y in range(min(length, count), 0, -1):
        best = None
        for candidate in candidates:
            if candidate in chosen:
                continue
            if best is None or worth(seed, (*chosen, candidate)) > worth(seed, (*chosen, best)):
                best = candidate
        chosen.append(best)
        labels[best] = y
    found = greedy_sequence(count, length, lambda tried: [worth(seed, tuple(sequence)) for sequence in tried])
    assert found == chosen
    assert greedy_grades(found, count) == [labels.get(candidate, 0) for candidate in candidates]


def test_all_extensions_of_a_step_are_asked_together_and_none_twice() -> None:
    asked: list[list[list[int]]] = []

    def score(sequences) -> list[float]:
        asked.append([list(sequence) for sequence in sequences])
        return [-abs(sequence[-1] - 2) for sequence in sequences]

    assert greedy_sequence(4, 2, score) == [2, 1]
    assert asked == [[[0], [1], [2], [3]], [[2, 0], [2, 1], [2, 3]]]
