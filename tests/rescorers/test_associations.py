"""What people say for what a tool says: a table of words, and what it makes of a request and texts."""

from __future__ import annotations

import gzip
import math
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.associations import FILE, Associations, packed, shipped_associations
from kitpick_rescorers.features import stems

TABLE = Associations(["delet 2.0 rid 9.0 remov 4.0", "invoic 6.0 bill 20.0", "the 0.5"])


def likelihoods(request: str, *texts: str) -> list[float]:
    found: list[float] = shipped_associations().likelihoods(stems(request), list(map(stems, texts))).tolist()
    return found


def test_the_ratio_of_a_word_is_the_mean_of_what_the_words_of_a_text_bring() -> None:
    """`delet` weighs 2 of 2 + 6: 9 · 2/8; `invoic` 6 of them: 20 · 6/8. The mean over both words asked."""
    (found,) = TABLE.likelihoods(frozenset({"rid", "bill"}), [frozenset({"delet", "invoic"})])
    assert found == pytest.approx((math.log1p(9 * 2 / 8) + math.log1p(20 * 6 / 8)) / 2)


def test_a_word_that_the_table_does_not_know_is_as_heavy_as_the_rarest() -> None:
    (found,) = TABLE.likelihoods(frozenset({"rid"}), [frozenset({"delet", "frobnicat"})])
    assert found == pytest.approx(math.log1p(9 * 2 / 8))


def test_nothing_is_known_of_what_nobody_says() -> None:
    texts = [frozenset({"the"}), frozenset({"frobnicat"}), frozenset[str]()]
    assert TABLE.likelihoods(frozenset({"rid", "xyzzy"}), texts).tolist() == [0.0] * 3
    assert TABLE.likelihoods(frozenset(), texts).tolist() == [0.0] * 3
    assert TABLE.likelihoods(frozenset({"rid"}), []).shape == (0,)


WORDS = st.sampled_from(["delet", "rid", "invoic", "bill", "the", "remov", "xyzzy", "é"])


@given(st.frozensets(WORDS), st.lists(st.frozensets(WORDS), max_size=5))
def test_a_text_says_the_same_alone_and_in_any_company(
    asked: frozenset[str], texts: list[frozenset[str]]
) -> None:
    together = TABLE.likelihoods(asked, texts)
    alone = [TABLE.likelihoods(asked, [text])[0] for text in texts]
    np.testing.assert_array_equal(together, alone)
    assert (together >= 0.0).all()


@pytest.mark.parametrize(
    ("request_", "right", "wrong"),
    [
        ("get rid of it", "delete an item", "create an item"),
        ("how do I bill a customer", "create an invoice", "create a customer"),
        ("what is the outlook for saturday", "weather forecast", "list of saturdays"),
    ],
)
def test_the_shipped_table_knows_how_people_say_it(request_: str, right: str, wrong: str) -> None:
    better, worse = likelihoods(request_, right, wrong)
    assert better > worse


def test_the_shipped_table_is_written_as_it_is_read() -> None:
    file = (resources.files("kitpick_rescorers") / FILE).read_bytes()
    rows = {}
    for line in gzip.decompress(file).decode().splitlines():
        word, weight, *said = line.split()
        rows[word] = float(weight), dict(zip(said[::2], map(float, said[1::2]), strict=True))
    assert packed(rows) == file
    assert not any(word.isdecimal() for word in rows)
    assert all(ratio > 0 for _, said in rows.values() for ratio in said.values())
