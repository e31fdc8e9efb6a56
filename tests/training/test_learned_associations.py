"""The table of associations is learned by expectation and maximisation."""

from __future__ import annotations

import math
from collections import defaultdict
from importlib import resources
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.associations import FILE, packed
from kitpick_training.associations import CATALOGS, AssociationRecipe, Pair, learn, pairs_of

EVERYTHING = AssociationRecipe(least=1, discount=0.0, prior=0.0, kept=0.0, most=1_000, share=1.0)


def pair(request: str, text: str) -> Pair:
    return frozenset(request.split()), frozenset(text.split())


PAIRS = [
    pair("remove file", "delete file"),
    pair("remove user", "delete user"),
    pair("add user", "create user"),
    pair("add file", "create file"),
]


def by_hand(pairs: list[Pair], recipe: AssociationRecipe) -> dict[tuple[str, str], float]:
    """P(said | word) by dictionaries, word by word; the word of no text is ""."""
    frequency: defaultdict[str, int] = defaultdict(int)
    for _, text in pairs:
        for word in text:
            frequency[word] += 1
    runs: list[tuple[str, dict[str, float]]] = []
    for request, text in pairs:
        weights = {word: math.log(len(pairs) / frequency[word]) for word in text}
        whole = sum(weights.values()) or 1.0
        shares = {word: (1 - recipe.nothing) * weight / whole for word, weight in weights.items()}
        runs += [(each, {"": recipe.nothing, **shares}) for each in request]
    counted = [(each, word, share) for each, shares in runs for word, share in shares.items()]
    table = normalised(counted)
    for _ in range(recipe.rounds):
        counted = []
        for each, shares in runs:
            whole = sum(table[each, word] * share for word, share in shares.items()) or 1.0
            counted += [(each, word, table[each, word] * share / whole) for word, share in shares.items()]
        table = normalised(counted)
    return table


def normalised(counted: list[tuple[str, str, float]]) -> dict[tuple[str, str], float]:
    table: defaultdict[tuple[str, str], float] = defaultdict(float)
    wholes: defaultdict[str, float] = defaultdict(float)
    for each, word, count in counted:
        table[each, word] += count
        wholes[word] += count
    return {(each, word): value / (wholes[word] or 1.0) for (each, word), value in table.items()}


LETTERS = st.frozensets(st.sampled_from("abcde"), min_size=1, max_size=4)


@given(st.lists(st.tuples(LETTERS, LETTERS), min_size=1, max_size=8), st.integers(0, 4))
def test_the_arrays_say_what_a_count_word_by_word_says(pairs: list[Pair], rounds: int) -> None:
    recipe = AssociationRecipe(**{**vars_of(EVERYTHING), "rounds": rounds})
    expected = by_hand(pairs, recipe)
    said = [word for request, _ in pairs for word in request]
    for word, (_, ratios) in learn(pairs, recipe).items():
        for each, ratio in ratios.items():
            probability = ratio * said.count(each) / len(said)
            assert probability == pytest.approx(expected[each, word], abs=1e-9)


def vars_of(recipe: AssociationRecipe) -> dict[str, float]:
    return {name: getattr(recipe, name) for name in recipe.__struct_fields__}


def test_a_word_stands_for_what_it_always_comes_with() -> None:
    rows = learn(PAIRS, AssociationRecipe(least=2, discount=0.0, prior=0.0, rounds=20))
    assert max(rows["delete"][1], key=lambda said: rows["delete"][1][said]) == "remove"
    assert max(rows["create"][1], key=lambda said: rows["create"][1][said]) == "add"


def test_numbers_and_rare_words_are_left_out() -> None:
    rows = learn([*PAIRS, pair("remove 7 once", "delete 7 twice")], AssociationRecipe(least=2, kept=0.0))
    assert set(rows) == {"delete", "create", "file", "user"}
    assert all(said <= {"remove", "add", "file", "user"} for _, row in rows.values() for said in [set(row)])


def test_pairs_without_a_common_word_are_refused() -> None:
    with pytest.raises(ValueError, match="no word stands in 2 of 1 pairs"):
        learn(PAIRS[:1], AssociationRecipe())


@pytest.mark.release
@pytest.mark.needs("data")
def test_the_shipped_table_is_what_is_learned(shared_data: Path) -> None:
    file = (resources.files("kitpick_rescorers") / FILE).read_bytes()
    assert packed(learn(pairs_of(CATALOGS, shared_data), AssociationRecipe())) == file
