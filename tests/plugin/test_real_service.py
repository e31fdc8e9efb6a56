"""The plugin and the rescorer as they are deployed: one node, one service process, a key between them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from double import Double, forwarding
from real_service import Service
from searching import PIPELINE, Search, ids, report

pytestmark = [pytest.mark.needs("jdk", "serve", "onnxruntime", "weights"), pytest.mark.slow]

QUERY = "What will the weather be like in Lisbon tomorrow?"
APIS = {
    "forecast": ("Weather reports", "weather", "Weather forecast of a city for the coming days."),
    "history": ("Weather reports", "weather", "Measured temperatures of past years."),
    "alerts": ("Weather reports", "weather", "Storm warnings of the weather office."),
    "rooms": ("Travel", "hotels", "Finds hotel rooms, whatever the weather will be like."),
    "flights": ("Travel", "flights", "Flights to Lisbon and what they will cost tomorrow."),
    "translate": ("Text", "translator", "What will be said like in another language."),
}
NEEDING = {
    "name": "always-concentrate",
    "stages": [
        {"stage": "fuse"},
        {"stage": "cross_encode"},
        {"stage": "concentrate", "threshold": 0.01},
    ],
}


@pytest.fixture(scope="module", autouse=True)
def index(search: Search) -> None:
    documents = {
        api: {"text": f"{tool}: {api}. {says} ({category})", "category": category, "tool": tool,
              "api": api, "tool_key": f"{category}/{tool}", "tenant": "acme"}
        for api, (category, tool, says) in APIS.items()
    }  # fmt: skip
    search.index("real", documents)
    search.put("/_search/pipeline/real", PIPELINE)


def asked(search: Search, **section: Any) -> Any:
    query = {"match": {"text": QUERY}}
    body = {"query": query, "size": 3, "ext": {"kitpick": {"query": QUERY, **section}}}
    return search(body, "real", "real")


def test_the_shipped_models_put_the_forecast_first(search: Search, double: Double, service: Service) -> None:
    with double.behaving(forwarding(*service)):
        read, answer = asked(search, profile="rerank"), asked(search)
    without = search.call("POST", "/real/_search", {"query": {"match": {"text": QUERY}}, "size": 3})
    assert ids(read)[0] == "forecast"
    assert report(read)["hits"][0]["probability"] > 0.5
    shown = report(answer)
    # The default also weighs the first stage, which has `flights` and `translate` first by their words.
    assert "forecast" in ids(answer)[:3]
    assert "forecast" not in ids(without)[:3], "words alone do not find it"
    assert shown["status"] == "rescored"
    assert shown["profile"] == "kitpick"
    assert shown["query_kind"] in {"single", "multi"}
    assert 0 < shown["service_ms"] <= shown["took_ms"]
    assert any(reason.startswith("cross_encode:") for reason in shown["hits"][0]["reasons"])


def test_a_profile_that_keeps_the_order_keeps_it(search: Search, double: Double, service: Service) -> None:
    with double.behaving(forwarding(*service)):
        answers = [asked(search, profile=name) for name in ("bm25", "dense", "hybrid")]
    first_stage = search.call("POST", "/real/_search", {"query": {"match": {"text": QUERY}}, "size": 3})
    assert all(ids(answer) == ids(first_stage) for answer in answers)


def test_an_answer_at_the_end_of_a_long_page_is_read(
    search: Search, double: Double, service: Service
) -> None:
    """An index of pages that nobody made for a cross-encoder, which reads 128 tokens.

    Two are without a sentence's end: a list of lines, and a transcript.
    """
    line = "the general introduction describes the history of this product and thanks everybody"
    told = "to reset a forgotten administrator password, hold the button for ten seconds"
    fill = f"{line}. " * 60
    pages = {
        "late": {"title": "Manual", "text": f"{fill}{told}."},
        "list": {"title": "Manual", "text": [*[line] * 30, told, *[line] * 30]},
        "transcript": {"title": "Manual", "text": f"{line} " * 30 + told + f" {line}" * 30},
        "noise": {"title": "Manual", "text": "Password policy administrator list. " + fill},
        **{f"other{n}": {"title": "Manual", "text": fill + " administrator"} for n in range(6)},
    }
    search.fill("pages", pages, {"settings": {"number_of_replicas": 0}})
    read = {"text_fields": ["title", "text"], "profile": "rerank"}
    search.put("/_search/pipeline/pages", {**PIPELINE, "response_processors": [{"kitpick": read}]})
    with double.behaving(forwarding(*service)):
        asked = {"query": {"match": {"text": "administrator forgot the password"}}}
        answer = search({**asked, "size": 3}, "pages", "pages")
    assert set(ids(answer)) == {"late", "list", "transcript"}
    (degraded,) = report(answer)["degraded"]
    assert degraded["reason"].startswith("10 texts are longer than the 128 tokens")


def test_what_the_service_needs_is_fetched(search: Search, double: Double, service: Service) -> None:
    """`alerts` does not match the words; concentrating on its tool asks for it."""
    query = {
        "bool": {
            "must": [{"match": {"text": "forecast of a city"}}],
            "filter": [{"term": {"tenant": "acme"}}],
        }
    }
    section = {"query": "forecast of a city", "profile": NEEDING, "window": 1}
    with double.behaving(forwarding(*service)):
        answer = search({"query": query, "size": 10, "ext": {"kitpick": section}}, "real", "real")
        second = double.calls[1]
    assert {each["api"] for each in second["fetched"]} == {"history", "alerts"}
    assert second["complete_tools"] == ["Weather reports/weather"]
    assert report(answer)["rounds"] == 1
    assert set(ids(answer)[:3]) == {"forecast", "history", "alerts"}


@pytest.mark.parametrize(
    ("tenant", "giver", "forbidden"),
    [("acme", "search_artists", "find_artists"), ("globex", "find_artists", "search_artists")],
)
def test_what_a_hit_needs_is_drawn_in_only_from_what_the_caller_may_see(
    search: Search, double: Double, service: Service, tenant: str, giver: str, forbidden: str
) -> None:
    """Both give an artist's id, and neither matches the words; each tenant may see one of them."""
    music = {"category": "Music", "tool": "music", "tool_key": "Music/music"}
    owned = {"tour_dates": "", "search_artists": "acme", "find_artists": "globex"}
    documents = {
        api: {**music, "api": api, "text": "looks up names", "tenant": owner, "gives": ["artist.id~9"]}
        for api, owner in owned.items()
    }
    documents["tour_dates"] |= {"text": "concerts", "gives": [], "needs": ["artist_id=artist.id~9"]}
    search.index("music", documents)
    query = {
        "bool": {"must": [{"match": {"text": "concerts"}}], "filter": [{"terms": {"tenant": ["", tenant]}}]}
    }
    section = {"query": "concerts", "profile": {"name": "complete", "stages": [{"stage": "complete"}]}}
    with double.behaving(forwarding(*service)):
        answer = search({"query": query, "size": 10, "ext": {"kitpick": section}}, "music", "real")
        calls = json.dumps(double.calls)
    assert ids(answer) == ["tour_dates", giver]
    assert "gives artist_id for tour_dates" in json.dumps(report(answer))
    assert forbidden not in calls + json.dumps(answer)


@pytest.mark.parametrize(
    ("section", "reason"),
    [({"profile": "no-such-profile"}, "refused"), ({"profile": {"name": "x", "stages": 3}}, "refused")],
)
def test_what_the_service_refuses_leaves_the_first_stage_order(
    search: Search, double: Double, service: Service, section: dict[str, Any], reason: str
) -> None:
    with double.behaving(forwarding(*service)):
        answer = asked(search, **section)
    assert report(answer)["reason"] == reason
    assert len(ids(answer)) == 3


def test_a_key_that_the_service_does_not_know(search: Search, double: Double, service: Service) -> None:
    with double.behaving(forwarding(service.url, "another-key")):
        answer = asked(search)
    assert report(answer)["reason"] == "unauthorized"
