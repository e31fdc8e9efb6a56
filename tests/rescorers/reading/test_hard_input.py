"""Requests that are no requests: each gets an answer that says what is wrong, and none an error."""

from __future__ import annotations

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
