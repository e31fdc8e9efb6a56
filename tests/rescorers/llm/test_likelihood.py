"""Yes or No: how likely each is, over every way to write it."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kitpick_rescorers.llm.endpoint import ChatEndpoint, LlmSettings
from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import (
    CallFailed,
    CapReached,
    Message,
)
from kitpick_training.own.likelihood import Likelihoods, NoLikelihoods, judge, likelihoods, summed

ANSWERS = ("Yes", "No")
QUESTION = (Message("user", "Is it?"),)
CAPS = Caps(seconds=30.0, calls=4, tokens=100_000, cost=1.0, retries=1)
words = st.sampled_from(["yes", "Yes", "YES", " Yes", "▁yes", "ĠYes", "Yes\n", "no", " No", "NO", "Ċno"])
others = st.sampled_from(["", "Y", "es", "Yesterday", "None", "yes.", "The", " ", "Ja"])


@given(st.lists(st.tuples(words | others, st.floats(-30, 0)), max_size=20), st.randoms())
def test_a_mass_is_the_sum_over_cases_and_spaces_whatever_else_there_is(alternatives, random) -> None:
    by_hand = [0.0, 0.0]
    for token, logprob in alternatives:
        word = token.replace("▁", "").replace("Ġ", "").replace("Ċ", "").strip().lower()
        for place, answer in enumerate(("yes", "no")):
            by_hand[place] += math.exp(logprob) if word == answer else 0.0
    shuffled = random.sample(alternatives, len(alternatives))
    assert summed(shuffled, ANSWERS) == pytest.approx([min(1.0, mass) for mass in by_hand])


@given(st.text(max_size=8), st.floats(allow_nan=True))
def test_no_token_and_no_number_breaks_the_sum(token: str, logprob: float) -> None:
    assert all(0.0 <= mass <= 1.0 for mass in summed([(token, logprob), ("Yes", logprob)], ANSWERS))


def test_every_spelling_counts_for_its_answer() -> None:
    for answer, expected in zip(ANSWERS, ([1.0, 0.0], [0.0, 1.0]), strict=True):
        cases = (answer, answer.lower(), answer.upper())
        for spelling in (*cases, *(f" {case}" for case in cases)):
            assert list(summed([(spelling, 0.0)], ANSWERS)) == expected


@pytest.fixture
def ask(fake):
    pytest.importorskip("httpx2")

    def asked(*behaviours: str, seconds: float = 20.0, **more: object) -> Likelihoods:
        settings = LlmSettings(
            url=fake(*behaviours, **more).url, model="m", key="secret-key", prompt_price=2.0
        )
        return likelihoods(ChatEndpoint(settings), QUESTION, ANSWERS, seconds=seconds)

    return asked


def test_an_endpoint_tells_the_likelihoods_of_one_token(fake) -> None:
    endpoint = fake(tokens=lambda _: {"Yes": 0.5, " yes": 0.125, "No": 0.25, "Maybe": 0.125})
    model = ChatEndpoint(LlmSettings(url=endpoint.url, model="m", prompt_price=2.0))
    found = likelihoods(model, QUESTION, ANSWERS, seconds=20)
    assert found.masses == pytest.approx((0.625, 0.25))
    assert (found.prompt_tokens, found.completion_tokens, found.cost) == (100, 10, pytest.approx(200e-6))
    body = endpoint.asked[0]
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"]) == (True, 20, 1)


def test_an_endpoint_without_likelihoods_says_so(ask) -> None:
    with pytest.raises(NoLikelihoods, match="without log-probabilities"):
        ask("well")
    with pytest.raises(CallFailed, match=r"HTTP 400.*logprobs is not supported"):
        ask("logprobs refused")


@pytest.mark.parametrize("behaviour", ["html", "half", "empty", "no choices", "deep", "huge", "401", "busy"])
def test_what_is_no_answer_fails_with_a_reason(ask, behaviour: str) -> None:
    with pytest.raises(CallFailed) as caught:
        ask(behaviour, tokens=lambda _: {"Yes": 1.0})
    assert not isinstance(caught.value, NoLikelihoods)
    assert "secret-key" not in str(caught.value)


@pytest.mark.parametrize("behaviour", ["never", "drip"])
def test_an_answer_that_does_not_end_in_time_is_given_up(ask, behaviour: str) -> None:
    with pytest.raises(CallFailed, match="no answer within"):
        ask(behaviour, seconds=0.5)


def test_judging_is_capped_and_tried_again_like_every_call(fake) -> None:
    pytest.importorskip("httpx2")
    endpoint = fake("503", "well", tokens=lambda _: {"Yes": 1.0})
    meter = CallMeter(ChatEndpoint(LlmSettings(url=endpoint.url, model="m")), CAPS)
    assert judge(meter, QUESTION, ANSWERS).masses == (1.0, 0.0)
    assert (meter.calls, meter.tokens) == (2, 110)
    for _ in range(2):
        judge(meter, QUESTION, ANSWERS)
    with pytest.raises(CapReached, match="cap of 4 calls"):
        judge(meter, QUESTION, ANSWERS)
    assert len(endpoint.asked) == 4
