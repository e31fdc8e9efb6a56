from __future__ import annotations

import numpy as np
import pytest

from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import in_rounds, rescore
from kitpick_rescorers.profiles import Profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import Classify, Concentrate, CrossEncode, Decode, Fuse

SINGLE = Profile("single", (Fuse(), CrossEncode(), Classify(), Concentrate(threshold=0.9, when="single")))


def rescore_with(fetcher, request, profile, models, rounds=2):
    answer, _ = in_rounds(fetcher, request, lambda asked: rescore(asked, profile, models), rounds)
    return answer


class Library:
    """A fetcher over a list of candidates, which counts how often it is asked."""

    def __init__(self, candidates):
        self.candidates = candidates
        self.asked = []

    def apis_of_tools(self, tools):
        self.asked.append(tuple(tools))
        return [c for c in self.candidates if c.tool_key in tools]

    def neighbours(self, vector, k):
        self.asked.append(k)
        return sorted(self.candidates, key=lambda c: -float(c.vector @ vector))[:k]


@pytest.fixture
def weather(bench):
    """The first stage found one of three APIs of `weather`, and one of `maps`."""
    names = ["weather/now", "maps/route", "weather/week", "weather/alerts"]
    whole = {name: bench.candidate(name) for name in names}
    first = [bench.candidate("weather/now", lexical=1), bench.candidate("maps/route", lexical=2)]
    scorer = bench.scorer(
        {"weather/now": 1.0, "maps/route": 0.0, "weather/week": 2.0, "weather/alerts": -5.0}
    )
    models = Models(scorer, bench.kind(0.1), ScoreCache())
    request = RescoreRequest("q", first, np.array([1.0, 0.0], dtype=np.float32))
    return Library(list(whole.values())), request, models


def test_the_other_apis_of_a_wanted_tool_are_fetched_scored_and_ranked(weather):
    library, request, models = weather
    answer = rescore_with(library, request, SINGLE, models)
    assert [hit.id for hit in answer.results] == [
        "weather/week",
        "weather/now",
        "weather/alerts",
        "maps/route",
    ]
    assert library.asked == [("/weather",)]
    assert (answer.rounds, answer.need) == (1, None)


def test_only_new_pairs_are_scored(weather):
    library, request, models = weather
    rescore_with(library, request, SINGLE, models)
    assert models.scorer.asked == [["weather/now", "maps/route"], ["weather/alerts", "weather/week"]]


def test_without_rounds_the_need_is_left_to_the_caller(weather):
    library, request, models = weather
    answer = rescore_with(library, request, SINGLE, models, rounds=0)
    assert answer.need.apis_of_tools == ("/weather",)
    assert [hit.id for hit in answer.results] == ["weather/now", "maps/route"]


def test_a_seen_tool_is_not_extended(weather, bench):
    library, request, models = weather
    models.scorer.seen = {"/weather"}
    assert rescore_with(library, request, SINGLE, models).rounds == 0
    assert library.asked == []


def test_what_brings_nothing_new_ends_the_rounds(weather):
    library, request, models = weather
    library.candidates = library.candidates[:2]
    answer = rescore_with(library, request, SINGLE, models)
    assert (answer.rounds, answer.need, len(library.asked)) == (0, None, 1)


def test_a_fetch_that_fails_leaves_the_best_list_so_far(weather):
    library, request, models = weather
    library.apis_of_tools = None
    answer = rescore_with(library, request, SINGLE, models)
    assert [hit.id for hit in answer.results] == ["weather/now", "maps/route"]
    assert [item.stage for item in answer.degraded] == ["fetch"]


def test_columns_are_generated_until_the_whole_library_is_reconstructed(bench):
    """The answer from 8 first candidates and fetched neighbours equals the one from all 400."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 24)).astype(np.float32)
    query = rows[:3].sum(axis=0) + 0.1 * rng.normal(size=24).astype(np.float32)
    near = np.argsort(-(rows @ query) / np.linalg.norm(rows, axis=1))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    library = [
        bench.candidate(f"t{i}/api", vector=unit[i], dense=rank) for rank, i in enumerate(near, start=1)
    ]
    profile = Profile("p", (Fuse(), Decode(l1=0.1, l2=0.1, neighbours=16, candidates=400)))

    def weights(candidates, rounds):
        request = RescoreRequest("q", candidates, query, k=400)
        answer = rescore_with(Library(library), request, profile, Models(), rounds=rounds)
        return answer, {hit.id: hit.score for hit in answer.results if hit.score > 1e-6}

    generated, found = weights(library[:8], rounds=20)
    _, expected = weights(library, rounds=0)
    assert generated.rounds > 1
    assert generated.need is None
    assert len(expected) > 3
    assert found == pytest.approx(expected, abs=1e-5)
