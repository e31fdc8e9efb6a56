"""The default profile with the models that are shipped, over a handful of real descriptions."""

from __future__ import annotations

import numpy as np
import pytest

from kitpick_engines.contract import Candidate, Place
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import rerank_text, retrieval_text
from kitpick_rescorers.models import Models
from kitpick_rescorers.pipeline import rescore
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.request import RescoreRequest
from kitpick_rescorers.scoring import ScoreCache

pytestmark = [pytest.mark.needs("weights", "onnxruntime")]

QUERY = "What will the weather be like in Lisbon tomorrow?"
APIS = {
    ("weather", "forecast"): "Weather forecast of a city for the coming days.",
    ("weather", "history"): "Weather of the past in a city.",
    ("maps", "route"): "Directions between two places.",
    ("bank", "transfer"): "Transfers money between two accounts.",
    ("music", "play"): "Plays a song.",
    ("mail", "send"): "Sends an e-mail.",
}


@pytest.fixture(scope="module")
def shipped():
    from kitpick_models.errors import UnknownModel
    from kitpick_models.runtime import load_cross_encoder, load_encoder, load_query_kind

    try:
        return load_encoder(), Models(load_cross_encoder(), load_query_kind(), ScoreCache())
    except UnknownModel as absent:
        pytest.skip(str(absent))


@pytest.fixture(scope="module")
def asked(shipped) -> RescoreRequest:
    encoder, _ = shipped
    documents = [
        ApiDocument(f"t/{tool}/{api}", "t", "", tool, api, said) for (tool, api), said in APIS.items()
    ]
    vectors = encoder.encode([QUERY, *map(retrieval_text, documents)])
    order = np.argsort(-(vectors[1:] @ vectors[0])).tolist()
    candidates = [
        Candidate(d.id, "", d.tool, d.api, rerank_text(d), v, dense=Place(order.index(i) + 1, 0.0))
        for i, (d, v) in enumerate(zip(documents, vectors[1:], strict=True))
    ]
    return RescoreRequest(QUERY, candidates, vectors[0])


def test_every_stage_of_the_default_profile_runs(shipped, asked):
    answer = rescore(asked, load_profile("kitpick"), shipped[1])
    assert answer.degraded == ()
    assert answer.query_kind is not None
    assert len(answer.results) == len(APIS)
    assert {hit.id for hit in answer.results[:2]} == {"t/weather/forecast", "t/weather/history"}


def test_without_scores_the_learned_fusion_orders_by_all_other_evidence(shipped, asked):
    from kitpick_models.runtime import load_list_ranker

    models = Models(query_kind=shipped[1].query_kind, ranker=load_list_ranker())
    answer = rescore(asked, load_profile("kitpick").without_scores(), models)
    assert answer.degraded == ()
    assert {hit.id for hit in answer.results[:2]} == {"t/weather/forecast", "t/weather/history"}
    assert "dense rank" in " ".join(next(e.reasons for e in answer.trace if e.stage == "learned").values())
    assert [hit.probability for hit in answer.results] == [None] * len(APIS)


def test_the_cross_encoder_alone_tells_the_coming_days_from_the_past(shipped, asked):
    assert rescore(asked, load_profile("rerank"), shipped[1]).results[0].id == "t/weather/forecast"


def test_decoding_shows_its_certificate(shipped, asked):
    answer = rescore(asked, load_profile("nnn"), shipped[1])
    certificate = next(entry.details for entry in answer.trace if entry.stage == "decode")
    assert certificate["violation"] <= 1e-6


def test_an_answer_from_the_cache_is_the_same(shipped, asked):
    profile = load_profile("kitpick")
    first, second = (rescore(asked, profile, shipped[1]) for _ in range(2))
    assert first.results == second.results
    assert "4 of them from the cache" in next(e.note for e in second.trace if e.stage == "cross_encode")
