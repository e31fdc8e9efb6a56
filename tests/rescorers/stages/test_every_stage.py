"""What holds for every stage, on any list and with any models."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import Profile, load_profile, shipped_profiles
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.scoring import ScoreCache
from kitpick_rescorers.stages import (
    Abstain,
    AnyStage,
    Blend,
    Classify,
    Combine,
    Complete,
    Concentrate,
    CrossEncode,
    Decode,
    Diversify,
    Enough,
    Fuse,
    Learned,
    RankGpt,
    Truncate,
)
from kitpick_training.own.demorank import DemoRank

PERMUTING = (
    Fuse(),
    CrossEncode(candidates=4),
    Blend(),
    Combine(),
    Classify(),
    Concentrate(),
    Diversify(per_component=1),
)
PERMUTING += (
    Decode(),
    Decode(relevance=0.1, candidates=3),
    Decode(dense_share=0.6),
    Learned(),
    Learned(abstains=False),
    Complete(),
    RankGpt(),
    DemoRank(),
    Abstain(),
)
CUTTING = (
    Truncate(seen=1, unseen=4),
    Truncate(seen=2, unseen=2),
    Enough(most=3),
    Fuse(lexical=0.0),
)
STAGES = PERMUTING + CUTTING

component = st.sampled_from([-1.0, 0.0, 0.3, 1.0, float("nan"), float("inf")])
rank = st.none() | st.integers(1, 9)
names = st.lists(st.sampled_from([f"{tool}/{api}" for tool in "abc" for api in "123"]), max_size=9)


@st.composite
def lists(draw):
    """Names with both places and a vector, some of them twice, some without any place."""
    return [(name, draw(rank), draw(rank), (draw(component), draw(component))) for name in draw(names)]


@pytest.fixture(scope="session")
def request_of(bench):
    def build(entries, k=100):
        made = [bench.candidate(n, lexical=x, dense=y, vector=v) for n, x, y, v in entries]
        return RescoreRequest("q", made, np.array([0.6, 0.8], dtype=np.float32), k)

    return build


@pytest.fixture(scope="session")
def models(bench):
    table = {
        f"{tool}/{api}": float(i % 4) for i, (tool, api) in enumerate((t, a) for t in "abc" for a in "123")
    }
    return Models(bench.scorer(table, seen=["a"]), bench.kind(0.3), ScoreCache())


def test_every_stage_is_tested_here():
    assert {type(stage) for stage in STAGES} == {*get_args(AnyStage), DemoRank}


@pytest.mark.parametrize("stage", STAGES, ids=repr)
@settings(deadline=None)
@given(entries=lists())
def test_a_stage_returns_its_input_in_another_order_or_less_of_it(stage, entries, request_of, models):
    before = Profile("p", (Fuse(), CrossEncode(candidates=6), Blend()))
    after = Profile("p", (*before.stages, stage))
    given_ids = [hit.id for hit in rescore(request_of(entries), before, models).results]
    found = [hit.id for hit in rescore(request_of(entries), after, models).results]
    assert len(found) == len(set(found))
    assert set(found) == set(given_ids) if stage in PERMUTING else set(found) <= set(given_ids)
    if stage in CUTTING[:2]:
        assert found == [key for key in given_ids if key in found]


@pytest.mark.parametrize("profile", shipped_profiles())
@settings(deadline=None)
@given(entries=lists(), seed=st.randoms(use_true_random=False))
def test_the_order_of_the_candidates_does_not_matter_once_they_have_places(
    profile, entries, seed, request_of, models
):
    placed = {entry[0]: entry for entry in entries if entry[1] or entry[2]}
    shuffled = list(placed.values())
    seed.shuffle(shuffled)
    one = rescore(request_of(list(placed.values())), load_profile(profile), models)
    other = rescore(request_of(shuffled), load_profile(profile), models)
    assert [(hit.id, hit.score) for hit in one.results] == [(hit.id, hit.score) for hit in other.results]


@pytest.mark.parametrize("profile", shipped_profiles())
@settings(deadline=None)
@given(entries=lists())
def test_no_list_breaks_a_profile_and_scores_are_finite(profile, entries, request_of, models):
    for given_models in (models, Models()):
        answer = rescore(request_of(entries), load_profile(profile), given_models)
        assert [hit.rank for hit in answer.results] == list(range(1, len(answer.results) + 1))
        assert all(np.isfinite(hit.score) for hit in answer.results)
