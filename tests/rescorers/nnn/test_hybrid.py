"""Rows of meaning and words: inner products are mixtures of two cosines, and the residual speaks."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.nnn import Hybrid, InvalidProblem, Lexicon, NnnProblem, solve_active_set

TEXTS = ["getWeather forecast", "convert currency", "currency of a country", ""]
QUERY = "What is the weather, and the currency?"


def test_only_telling_words_of_the_query_have_a_dimension() -> None:
    lexicon = Lexicon.of(TEXTS, QUERY)
    assert lexicon.words == ("weather", "currency")
    assert (lexicon.rows > 0).tolist() == [[True, False], [False, True], [False, True], [False, False]]
    assert np.linalg.norm(lexicon.query) == pytest.approx(1.0)


def test_a_rare_word_counts_more_and_other_words_take_from_the_length() -> None:
    lexicon = Lexicon.of(TEXTS, QUERY)
    assert lexicon.query[0] > lexicon.query[1]
    assert lexicon.rows[1, 1] > lexicon.rows[2, 1], "of two words, and of four"
    assert (np.linalg.norm(lexicon.rows, axis=1) < 1).all()


def test_inner_products_mix_both_cosines() -> None:
    lexicon = Lexicon.of(TEXTS, QUERY)
    vectors, query = np.eye(4)[:, :3], np.array([0.6, 0.0, 0.8])
    for share in (0.3, 1.0):
        hybrid = Hybrid.of(vectors, query, lexicon, share)
        expected = share * vectors @ query + (1 - share) * lexicon.rows @ lexicon.query
        np.testing.assert_allclose(hybrid.rows @ hybrid.query, expected)
        np.testing.assert_allclose(hybrid.direction_left(hybrid.query), query)


def test_what_is_left_of_the_query_are_words_too() -> None:
    lexicon = Lexicon.of(TEXTS, QUERY)
    hybrid = Hybrid.of(np.eye(4), np.array([1.0, 0, 0, 0]), lexicon, 0.5)
    solution = solve_active_set(NnnProblem(hybrid.rows, hybrid.query, 0.3, 0.0))
    assert solution.support.tolist() == [0]
    left = hybrid.words_left(solution.residual)
    assert list(left) == ["currency", "weather"]
    assert left["currency"] == pytest.approx(1.0)
    assert 0 < left["weather"] < 1


def test_words_that_no_document_has_are_not_asked_for() -> None:
    lexicon = Lexicon.of(TEXTS, "unheard words weather")
    assert lexicon.words == ("unheard", "words", "weather")
    np.testing.assert_allclose(lexicon.query, [0, 0, 1])
    assert not Lexicon.of(TEXTS, "unheard").query.any()


@pytest.mark.parametrize("texts", [[], TEXTS])
def test_without_words_rows_are_dense(texts: list[str]) -> None:
    lexicon = Lexicon.of(texts, "")
    assert lexicon.rows.shape == (len(texts), 0)
    hybrid = Hybrid.of(np.eye(4)[: len(texts)], np.ones(4), lexicon, 1.0)
    assert hybrid.words_left(hybrid.query) == {}
    np.testing.assert_array_equal(hybrid.direction_left(hybrid.query), np.ones(4))


def test_shares_and_counts_that_make_no_sense_are_refused() -> None:
    lexicon = Lexicon.of(TEXTS, QUERY)
    for share in (0.0, -0.1, 1.1, float("nan")):
        with pytest.raises(InvalidProblem, match="dense_share"):
            Hybrid.of(np.eye(4), np.ones(4), lexicon, share)
    with pytest.raises(InvalidProblem, match="3 vectors for 4 texts"):
        Hybrid.of(np.eye(3), np.ones(3), lexicon, 0.5)
