from __future__ import annotations

import re

from kitpick_rescorers.explain import explain
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.stages import Abstain, Blend, Classify, CrossEncode, Fuse


def explained(bench):
    candidates = [
        bench.candidate("maps/route", lexical=1),
        bench.candidate("weather/now", lexical=2, dense=1),
    ]
    scorer = bench.scorer({"maps/route": 2.0, "weather/now": -2.0})
    profile = Profile("p", (Fuse(), CrossEncode(), Blend(when="multi"), Classify(), Abstain(threshold=0.9)))
    answer = rescore(RescoreRequest("q", candidates), profile, Models(scorer=scorer))
    return explain(answer.trace, [hit.id for hit in answer.results])


def test_every_hit_tells_what_each_stage_did_to_it_and_why(bench):
    first = explained(bench).hits[0]
    assert first.id == "maps/route"
    assert [(step.stage, step.before, step.rank, step.reason) for step in first.steps] == [
        ("fuse", None, 2, "lexical rank 1"),
        ("cross_encode", 2, 1, "logit 2.00, probability 0.88"),
    ]
    assert first.steps[1].score == 2.0


def test_the_text_is_for_a_terminal(bench):
    text = re.sub(r"\d+\.\d ms", "_ ms", explained(bench).text())
    assert text == (
        "fuse _ ms · 2 candidates fused\n"
        "cross_encode _ ms · 2 scored, 0 of them from the cache\n"
        "blend _ ms · skipped: only for multi-tool queries, and the kind of this one is unknown\n"
        "classify _ ms · skipped: no classifier of query kinds is loaded\n"
        "abstain _ ms · abstained: the best probability 0.88 is below 0.90\n"
        "\n"
        "1. maps/route\n"
        "   fuse             – → 2  lexical rank 1\n"
        "   cross_encode     2 → 1  logit 2.00, probability 0.88\n"
        "\n"
        "2. weather/now\n"
        "   fuse             – → 1  lexical rank 2 + dense rank 1\n"
        "   cross_encode     1 → 2  logit -2.00, probability 0.12\n"
    )
