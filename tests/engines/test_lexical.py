"""Which words of a request are looked up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kitpick_engines.lexical import MAX_WORDS, request_words


def test_words_are_lower_case_and_distinct():
    assert request_words("Weather weather, WEATHER! Oslo") == ["weather", "oslo"]


def test_identifiers_stay_whole_and_are_split():
    assert sorted(request_words("getUserById")) == ["get", "getuserbyid", "id", "user"]


def test_the_way_people_ask_is_left_out():
    assert request_words("Could you please tell me what the weather is?") == ["weather"]


def test_stop_words_are_kept_in_a_name_of_which_they_are_half():
    assert request_words("get_me") == ["get", "me"]
    assert request_words("get-help") == ["get", "help"]
    assert request_words("get me") == ["get"]


def test_stop_words_are_kept_where_there_is_nothing_else():
    assert request_words("who is it") == ["who", "is", "it"]


def test_scripts_without_spaces_become_pairs():
    assert request_words("天气预报 in 東京") == ["天气", "气预", "预报", "東京"]
    assert request_words("天") == ["天"]


def test_full_width_letters_are_letters():
    assert request_words("ＧＰＳ") == ["gps"]


def test_the_first_words_of_a_very_long_request_are_taken():
    assert request_words(" ".join(f"w{n}x" for n in range(1000)))[:3] == ["w0x", "w1x", "w2x"]
    assert len(request_words(" ".join(f"w{n}x" for n in range(1000)))) == MAX_WORDS


@given(st.text(max_size=200))
def test_any_text_gives_plain_words(text):
    for word in request_words(text):
        assert word
        assert word == "".join(letter for letter in word if letter.isalnum())
        word.encode()
