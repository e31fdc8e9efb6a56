"""Token ids are bounded, cached, and those of the tokenizer itself."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from kitpick_models.locate import find_model
from kitpick_models.tokens import TokenIds, pair, single

pytestmark = pytest.mark.needs("weights")


@pytest.fixture(scope="module")
def content() -> bytes:
    return (find_model("minilm-l6").parent / "tokenizer.json").read_bytes()


@pytest.fixture(scope="module")
def tokens(content: bytes) -> TokenIds:
    return TokenIds(content, capacity=10_000)


@given(text=st.text(max_size=200))
def test_ids_are_those_of_the_tokenizer(tokens, reference, text: str):
    found = tokens.of(text, 512)
    assert found.tolist() == reference.encode(text, add_special_tokens=False).ids[:512]


@pytest.fixture(scope="module")
def reference(content: bytes) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


@pytest.fixture(scope="module")
def cutting(content: bytes) -> Tokenizer:
    tokenizer = Tokenizer.from_buffer(content)
    tokenizer.no_padding()
    return tokenizer


def test_a_sequence_is_what_the_tokenizer_itself_makes_of_a_text_and_of_a_pair(tokens, reference):
    ids, types = single(tokens, "list all users", 64)
    assert ids.tolist() == reference.encode("list all users").ids
    assert not types.any()
    ids, types = pair(tokens, "find a user", "getUser: returns one", 64)
    expected = reference.encode("find a user", "getUser: returns one")
    assert (ids.tolist(), types.tolist()) == (expected.ids, expected.type_ids)


@given(text=st.text(max_size=200), limit=st.integers(1, 40))
def test_a_text_is_longer_where_the_tokenizer_makes_more_of_it(tokens, reference, text: str, limit: int):
    whole = len(reference.encode(text, add_special_tokens=False).ids)
    longer = whole > limit or len(text) > 32 * limit
    assert tokens.longer([text, ""], limit) == [longer, False]
    assert tokens.filled(text, limit) == (limit if longer else 0)


def test_korean_has_more_tokens_than_characters(tokens):
    assert tokens.filled("배송이 늦어진 주문을 모두 찾아 " * 3, 60) == 60


def test_what_stands_behind_ten_thousand_spaces_is_not_read_and_counts_as_more(tokens):
    assert tokens.longer([" " * 10_000 + "a word", "a word" + " " * 20], 254) == [True, False]


WORDS = st.integers(0, 60).map(lambda count: " ".join(["tool"] * count))


@given(query=WORDS, text=WORDS, limit=st.integers(5, 64))
def test_a_pair_is_cut_as_the_tokenizer_itself_would_cut_it(tokens, cutting, query, text, limit):
    # Where each side alone is too long we do not count on, and the odd token goes to the text.
    assume(limit % 2 or min(len(query.split()), len(text.split())) < limit - 3)
    cutting.enable_truncation(limit, strategy="longest_first")
    ids, types = pair(tokens, query, text, limit)
    expected = cutting.encode(query, text)
    assert (ids.tolist(), types.tolist()) == (expected.ids, expected.type_ids)


@given(query=st.text(max_size=400), text=st.text(max_size=400), limit=st.integers(8, 64))
def test_a_pair_never_exceeds_its_limit_and_neither_side_crowds_out_the_other(tokens, query, text, limit):
    ids, types = pair(tokens, query, text, limit)
    assert len(ids) == len(types) <= limit
    half = (limit - 3) // 2
    assert types.sum() - 1 >= min(len(tokens.of(text, limit)), half)
    assert (types == 0).sum() - 2 >= min(len(tokens.of(query, limit)), half)


def test_a_lone_surrogate_is_read_as_the_replacement_character(tokens):
    broken, clean = (tokens.of(f"weather {character} in Rome", 32) for character in "\ud83d\ufffd")
    assert broken.tolist() == clean.tolist()


def test_two_surrogates_that_make_a_character_are_that_character(tokens):
    assert tokens.of("\ud83d\ude00", 32).tolist() == tokens.of("\U0001f600", 32).tolist()


def test_the_rest_of_an_enormous_text_costs_nothing(tokens):
    text = "retrieve the weather " * 5_000_000  # 105 MB
    start = time.process_time()
    assert len(tokens.of(text, 256)) == 256
    assert time.process_time() - start < 10


def test_the_cache_answers_the_same_as_before_and_forgets_the_oldest_first(content):
    tokens = TokenIds(content, capacity=12)  # three texts of three tokens each
    kept, forgotten = tokens.of("one two three", 8), tokens.of("four five six", 8)
    tokens.of("seven eight nine", 8)
    assert tokens.of("one two three", 8) is kept  # and from now on the most recent
    tokens.of("ten eleven twelve", 8)
    assert tokens.of("one two three", 8) is kept
    again = tokens.of("four five six", 8)
    assert again is not forgotten
    assert np.array_equal(again, forgotten)


def test_a_cached_answer_cannot_be_changed_by_its_reader(tokens):
    with pytest.raises(ValueError, match="read-only"):
        tokens.of("immutable", 8)[0] = 1


def test_the_same_text_with_another_limit_is_another_entry(tokens):
    assert len(tokens.of("a b c d", 2)) == 2
    assert len(tokens.of("a b c d", 4)) == 4


def test_a_cache_without_room_still_answers(content):
    assert len(TokenIds(content, capacity=0).of("a b c", 8)) == 3
