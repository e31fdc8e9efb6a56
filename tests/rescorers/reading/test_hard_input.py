"""Requests that are no requests: each gets an answer that says what is wrong, and none an error."""

from __future__ import annotations

import time

import pytest

from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Fuse

NAMES = ("c/StopInstances", "c/ListInstances")


@pytest.mark.parametrize(
    ("query", "abstained", "degraded"),
    [
        ("🙂🚀", "no words", ""),
        ("?!...", "no words", ""),
        ("\u200f\u202e\u200e", "no words", ""),
        ("the of and to a is", "name no deed", ""),
        ("stop \u200fthe\u202c servers", "", ""),
        ("stop die サーバー и список بوكيه", "", ""),
        ("サーバーを停止してください please", "", "Japanese"),
        ("Ποιος είναι ο καιρός", "which nothing here reads", "Greek"),
        ("please stop the server " * 4_400, "", "characters"),
    ],
)
def test_hard_input_is_answered_clearly(bench, query: str, abstained: str, degraded: str) -> None:  # type: ignore[no-untyped-def]
    candidates = [bench.candidate(name, lexical=rank) for rank, name in enumerate(NAMES, start=1)]
    found = rescore(RescoreRequest(query, candidates), Profile("p", (Fuse(),)), Models())
    assert [hit.id for hit in found.results] == list(NAMES)
    assert abstained in found.abstained_because
    assert found.abstained is bool(abstained)
    assert degraded in " ".join(each.reason for each in found.degraded)
    assert bool(found.degraded) is bool(degraded)


@pytest.mark.parametrize(
    "query",
    [
        "a" + "A" * 60 + "@",
        "A" + "aB" * 1_900 + "@",
        "yes please " * 200 + "x",
        "no thanks " * 18 + "x",
        "yes please " * 18 + "x",
        "不是" * 39 + "你",
        "很棒" * 39 + "你",
        "if " * 6_600,
        "x" + " " * 297 + "y",
        "dosyayı silmeden listele " + "maz" * 600 + " x",
        "zeige die Server " + "ohne " * 180 + "zu" * 480,
        "und das ist nicht die " + "x" * 900,
        "mow " + "the " * 4_900 + "x",
    ],
    ids=lambda text: f"{text[:14]} x {len(text)}",
)
def test_no_text_takes_long_to_read(bench, query: str) -> None:  # type: ignore[no-untyped-def]
    """A pattern that backtracks holds a service for minutes: no deadline stops it."""
    candidates = [bench.candidate(f"c/{name}Instances", lexical=1) for name in ("Delete", "List")]
    rescore(RescoreRequest("list the instances", candidates), Profile("p", (Fuse(),)), Models())
    started = time.process_time()
    found = rescore(RescoreRequest(query, candidates), Profile("p", (Fuse(),)), Models())
    assert time.process_time() - started < 3
    assert len(found.results) == 2
