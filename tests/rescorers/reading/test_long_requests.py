"""Of a long request the beginning and the end are read, and the answer says so."""

from __future__ import annotations

import time

import pytest

from kitpick_engines.contract import Candidate, Place
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.reading.request_reading import MAX_READ, as_read, shortened
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.search import prepare

ASKED = "refund the charge"
LOG = "File handlers.py, line 117, in dispatch: return self.call(request)\n" * 6_000


@pytest.mark.parametrize("text", ["", "a", "a" * MAX_READ])
def test_what_is_short_enough_is_read_as_it_is(text: str) -> None:
    assert as_read(text) == (text, ())


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
