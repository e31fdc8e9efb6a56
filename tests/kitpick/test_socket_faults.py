"""Every point of every connection of a search fails once: the answer is the usual one, or says why not.

The rescorer and the language model are real servers on real sockets; what carries the requests breaks, or
stands still, at one point after the other.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from faulty_sockets import FaultyAsyncSockets, HowBroken, Points, at_each
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_rescorers.llm.endpoint import ChatEndpoint, LlmSettings
from kitpick_rescorers.llm.model import CallFailed
from kitpick_rescorers.llm.windows import SCHEMA, order_messages
from kitpick_rescorers.profiles import load_profile
from kitpick_rescorers.search import Search, SearchOutcome
from kitpick_service.client import ClientSettings, RescorerClient
from kitpick_service.client.clients import RemoteRescorer

HOWS = ("break", "stall")
REQUEST = "Will it rain in Porto tomorrow?"


def search(catalog: Catalog, client: RescorerClient) -> SearchOutcome:
    way = Search(catalog.engine, catalog.models.queries, RemoteRescorer(client), lambda *_: None)
    return way.run(REQUEST, load_profile("rerank"), 50, Filter())


def ids(outcome: SearchOutcome) -> list[str]:
    return [hit.document.id for hit in outcome.hits]


@pytest.mark.needs("weights", "onnxruntime", "serve")
@pytest.mark.parametrize("tries", [1, 2])
@pytest.mark.parametrize("how", HOWS)
def test_a_search_with_a_rescorer_that_fails_at_one_point_is_whole_or_says_so(
    catalog: Catalog, service_url: str, how: HowBroken, tries: int
) -> None:
    ample, whole = ClientSettings(deadline=60, tries=tries, backoff=0.001), Points()
    settings = replace(ample, deadline=3) if how == "stall" else ample
    with RescorerClient(service_url, "", ample, FaultyAsyncSockets(whole)) as client:
        usual = search(catalog, client)
    assert usual.degraded == ()
    assert len(whole.passed) >= 3

    def check(fail_at: int) -> None:
        points = Points(fail_at, how)
        with RescorerClient(service_url, "", settings, FaultyAsyncSockets(points)) as client:
            found = search(catalog, client)
        where = f"{points.failed}: {found.degraded}"
        if found.degraded:
            assert tries == 1 or how == "stall", where
            assert found.degraded[0].stage == "rescorer", where
            assert "the rescorer" in found.degraded[0].reason, where
            assert set(ids(found)) == set(ids(usual)), "all that the first stage found"
        else:
            assert ids(found) == ids(usual), where

    at_each(len(whole.passed), check)


@pytest.mark.needs("llm")
@pytest.mark.parametrize("how", HOWS)
def test_a_language_model_that_fails_at_one_point_fails_with_words(fake: Any, how: HowBroken) -> None:
    settings = LlmSettings(url=fake().url, model="m", key="secret-key")
    for fail_at in itertools.count(1):
        points = Points(fail_at, how)
        answer = completed(3 if how == "stall" else 60, ChatEndpoint(settings, FaultyAsyncSockets(points)))
        if not points.failed:
            break
        assert isinstance(answer, CallFailed), points.failed
        assert "secret-key" not in str(answer)
        assert ("no answer within" if how == "stall" else "Error") in str(answer), points.failed
    assert answer == '{"ranking": [2, 1]}'
    assert fail_at == 4, "connect, answer, body"


def completed(seconds: float, model: ChatEndpoint) -> str | CallFailed:
    """The model's text, or why there is none."""
    messages = order_messages("weather", ["weather 1", "mail 9"])
    try:
        return model.complete(messages, max_tokens=50, schema=SCHEMA, seconds=seconds).text
    except CallFailed as error:
        return error
