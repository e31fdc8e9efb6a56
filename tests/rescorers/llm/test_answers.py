"""What language models write when they are asked for an order."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.llm.windows import read_ranking


@pytest.mark.parametrize(
    "text",
    [
        '{"ranking": [3, 1, 2]}',
        '```json\n{"ranking": [3, 1, 2]}\n```',
        '{"ranking": ["3", "[1]", "2"]}',
        "[3, 1, 2]",
        "[3] > [1] > [2]",
        "[3]>[1]>[2]",
        "[3], [1], [2]",
        "1. [3]\n2. [1]\n3. [2]",
        "[3]\n[1]\n[2]",
        "3 > 1 > 2",
        "Here are the top 20: [3] > [1] > [2].",
        "I thought about [1] and [2]. First [1] > [2], but then: [3] > [1] > [2]",
        "第一是第三个工具：[3] > [1] > [2]",
    ],
)
def test_an_order_is_read_however_it_is_written(text: str) -> None:
    found = read_ranking(text, 3)
    assert (found.order, found.outcome) == ((2, 0, 1), "ok")


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("[3] > [3] > [1] > [2]", (2, 0, 1, 3)),
        ("[3] > [1]", (2, 0, 1, 3)),
        ("[9] > [3] > [0] > [1]", (2, 0, 1, 3)),
        ('{"ranking": [4, 4, 77, 2]}', (3, 1, 0, 2)),
        ('{"ranking": [2, 1, 3, 4, 5]}', (1, 0, 2, 3)),
    ],
)
def test_repeats_holes_and_foreign_numbers_are_mended(text: str, order: tuple[int, ...]) -> None:
    found = read_ranking(text, 4)
    assert (found.order, found.outcome) == (order, "repaired")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Sorry, I cannot help with ranking 20 tools.",
        "Error 429: rate limit of 3 requests exceeded, retry in 20 seconds",
        "The best one is [3].",
        "[1] is about weather while [2] sends mail.",
        '{"error": {"code": 500}}',
        '{"ranking": "3, 1"}',
        "99 > 98 > 97",
        "天気を調べるツールです",
    ],
)
def test_an_answer_without_an_order_leaves_the_order(text: str) -> None:
    found = read_ranking(text, 4)
    assert (found.order, found.outcome) == ((0, 1, 2, 3), "unscored")


@given(st.text(max_size=400) | st.lists(st.integers(-3, 40)).map(json.dumps), st.integers(0, 30))
def test_whatever_is_written_a_permutation_comes_out(text: str, count: int) -> None:
    found = read_ranking(text, count)
    assert sorted(found.order) == list(range(count))


@given(st.permutations(range(12)), st.sampled_from([" > ", ", ", "\n", ">"]))
def test_a_written_permutation_is_read_back(order: list[int], between: str) -> None:
    found = read_ranking(between.join(f"[{place + 1}]" for place in order), 12)
    assert (list(found.order), found.outcome) == (order, "ok")


def test_an_answer_of_megabytes_is_read_in_moments() -> None:
    assert read_ranking("[1] " * 2_000_000, 3).outcome == "unscored"
    assert read_ranking("{" * 1_000_000, 3).outcome == "unscored"
    assert read_ranking("[1] > " * 1_000_000, 3).outcome == "unscored"
    assert read_ranking("[1]" + "\n" * 1_000_000, 3).outcome == "unscored"
