"""Of a long request the beginning and the end are read, and the answer says so."""

from __future__ import annotations

import time
from itertools import product
from typing import Any

import numpy as np
import pytest

from kitpick_engines.contract import Candidate, Place
from kitpick_models.runtime import load_cross_encoder, load_encoder
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.reading.request_reading import MAX_READ, as_read, cut_beside, cut_by, shortened
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.search import prepare
from kitpick_rescorers.state import faults

ASKED = "refund the charge"
LOG = "File handlers.py, line 117, in dispatch: return self.call(request)\n" * 6_000


@pytest.mark.parametrize("text", ["", "a", "a" * MAX_READ])
def test_what_is_short_enough_is_read_as_it_is(text: str) -> None:
    assert as_read(text) == (text, ())


@pytest.mark.parametrize(
    ("text", "read"), [("rain \ud83d?", "rain \ufffd?"), ("\ude00\ud83d\ude00", "\ufffd\U0001f600")]
)
def test_half_a_character_is_read_as_none(text: str, read: str) -> None:
    assert as_read(text) == (read, ())


@pytest.mark.parametrize("blank", ["\t", " \n", "\u3000"])
def test_blanks_around_a_request_hide_nothing_of_it(blank: str) -> None:
    gap = blank * MAX_READ
    assert as_read(f"{gap}send{gap}an email{gap}") == ("send\nan email", ())


@pytest.mark.parametrize("text", [f"{ASKED} {LOG}", f"{LOG} {ASKED}", f"{ASKED}{'x' * 1_000_000}"])
def test_what_is_asked_before_or_behind_what_was_pasted_is_read(text: str) -> None:
    read, (said,) = as_read(text)
    assert ASKED in read
    assert len(read) == MAX_READ
    assert said.stage == "long_request"
    assert f"{len(text):,} characters: the first 16,000 and the last 4,000 were read" in said.reason
    assert as_read(read) == (read, ()), "what was cut once is not cut again"
    assert shortened(read) == read


def test_whoever_ranks_says_so_once() -> None:
    candidates = [Candidate("a/b/refund", "a", "b", "refund", "Refund a charge", (), Place(1, 1.0), None)]  # type: ignore[arg-type]
    request = RescoreRequest(f"{LOG} {ASKED}", candidates)
    started = time.process_time()
    answer = rescore(request, load_profile("bm25"), Models())
    assert time.process_time() - started < 10
    assert [said.stage for said in answer.degraded] == ["long_request"]
    assert [said.stage for said in prepare(request.query, frozenset(), None).degraded] == ["long_request"]  # type: ignore[arg-type]


STORY = "first I did this and then I did that, and nothing came of it. "


BESIDE = "beside 1 of 2 texts, which are long, the cross-encoder reads only the first 62 of its"
PAIR, ONE = (
    "the cross-encoder reads the first 125 tokens of it",
    "the encoder reads the first 254 tokens of it",
)


@pytest.mark.needs("weights", "onnxruntime")
@pytest.mark.parametrize(
    ("times", "told"),
    [(1, []), (3, []), (4, [BESIDE]), (7, [BESIDE]), (10, [PAIR]), (30, [ONE, PAIR]), (300, [ONE, PAIR])],
)
def test_what_a_model_cannot_read_to_its_end_is_told_once_a_model(times: int, told: list[str]) -> None:
    encoder, scorer = load_encoder("encoder-pair"), load_cross_encoder("reranker-l6")
    candidates = [
        Candidate(f"a/b/{name}", "a", "b", name, text, np.zeros(0, np.float32), Place(rank, 1.0), None)
        for rank, (name, text) in enumerate((("refund", "Refund a charge"), ("long", "words " * 200)), 1)
    ]
    query = ASKED + " " + STORY * times
    embedded = prepare(query, frozenset({"vector"}), Queries(encoder)).degraded
    for _ in range(2):
        request = RescoreRequest(query, candidates)
        answer = rescore(request, load_profile("rerank"), Models(scorer=scorer, cache=ScoreCache()))
        said = [each for each in (*embedded, *answer.degraded) if each.stage == "long_request"]
        assert len(said) == len(told)
        assert all(each.reason.startswith(words) for each, words in zip(said, told, strict=True)), said
    assert faults(answer.degraded) == []


@pytest.mark.needs("weights", "onnxruntime")
def test_what_is_said_of_a_pair_is_what_the_model_reads() -> None:
    scorer = load_cross_encoder("reranker-l6")
    for asked, long in product((20, 62, 63, 80, 104, 125, 140), (1, 20, 61, 62, 63, 100, 300)):
        query, text = " ".join(["money"] * asked), " ".join(["charge"] * long)
        (row,) = scorer.rows(query, [text])
        read = int((row.types == 0).sum()) - 2
        assert scorer.request_read(query, [text]) == [read]
        told = cut_beside(scorer, "cross-encoder", query, [text])
        assert bool(told) == (read < asked), (asked, long, told)


class Queries:
    """An encoder of requests, and one that knows nothing of bounds if it has none."""

    def __init__(self, encoder: Any) -> None:
        self.identity, self.reads_at_most = encoder.identity, encoder.reads_at_most
        self._encoder = encoder

    def vectors(self, texts: tuple[str, ...]) -> list[Any]:
        return list(self._encoder.encode(texts))


@pytest.mark.parametrize("reader", [None, object(), 3])
def test_of_a_model_that_knows_no_bound_nothing_is_told(reader: object) -> None:
    assert cut_by(reader, "model", ASKED * 5_000) == ()
    assert cut_beside(reader, "model", ASKED * 5_000, ["a text"]) == ()
