"""The SDK: what a developer gets with one line, and what happens when something is missing."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_ingest.errors import SuspiciousShrink
from kitpick_ingest.opening import open_source
from kitpick_models.errors import ProviderRefused
from kitpick_rescorers.errors import EmptyCatalog, InvalidRequest, RescorerError

pytestmark = pytest.mark.needs("weights", "onnxruntime")


def found(catalog: Catalog, request: str, **options: object) -> list[str]:
    return [hit.document.api for hit in catalog.search(request, **options).hits]


def test_a_request_finds_its_api(catalog: Catalog) -> None:
    assert found(catalog, "will it rain in Paris tomorrow?")[0] == "get_weather"


def test_a_request_for_two_things_finds_both(catalog: Catalog) -> None:
    request = "translate the invitation into French and email it to Marie"
    assert {"translate_text", "send_email"} <= set(found(catalog, request, k=3))


def test_the_sentences_of_a_request_are_asked_by_themselves(catalog: Catalog) -> None:
    request = "Put the meeting into French. Then mail it to Marie. Is it going to rain?"
    hits = catalog.search(request, 4).hits
    assert {hit.document.api for hit in hits} >= {"translate_text", "send_email", "get_weather"}
    assert all(any("sentence rank" in reason for reason in hit.reasons) for hit in hits)
    alone = catalog.search("Is it going to rain?", 1).hits[0]
    assert not any("sentence rank" in reason for reason in alone.reasons)


def test_lost_vectors_degrade_the_search_which_names_them_until_the_next_ingest(
    catalog: Catalog, settings: Settings, functions_file: Path
) -> None:
    vectors = next(Path(f"{settings.catalog.removeprefix('sqlite:')}.vectors").iterdir())
    vectors.write_bytes(vectors.read_bytes()[: vectors.stat().st_size // 2])

    with Catalog.open(settings=settings) as damaged:
        (first, *_) = damaged.search("will it rain in Paris tomorrow?").degraded
        assert first.stage == "vectors"
        assert "4 stored vectors are damaged or missing" in first.reason
        assert first.reason.endswith(": 4)")
        damaged.ingest(f"functions:{functions_file}")
        assert not damaged.search("will it rain in Paris tomorrow?").degraded


def test_a_request_for_nothing_in_the_catalog_abstains_and_still_shows_the_nearest(catalog: Catalog) -> None:
    result = catalog.search("paint the fence green")
    assert result.abstained
    assert result.abstained_because
    assert result.hits


@pytest.mark.parametrize("profile", ["bm25", "dense", "hybrid", "rerank", "toolrerank", "nnn", "kitpick"])
def test_every_shipped_profile_runs_in_full(catalog: Catalog, profile: str) -> None:
    result = catalog.search("convert 100 dollars into euros", profile=profile)
    assert not result.degraded
    assert result.hits[0].document.api == "convert_currency"


def test_the_verbatim_definition_comes_back(catalog: Catalog, functions_file: Path) -> None:
    hit = catalog.search("delete a file", 1).hits[0]
    assert hit.document.definition in functions_file.read_text()


def test_definitions_can_be_handed_to_a_model(catalog: Catalog) -> None:
    result = catalog.search("send an email", 1)
    name = result.definitions("openai")[0]["function"]["name"]
    assert result.called(name).api == "send_email"
    assert result.definitions("anthropic")[0]["input_schema"]["required"] == ["recipient", "subject", "body"]
    assert result.definitions("mcp")[0]["inputSchema"]["type"] == "object"


def test_the_async_twins_do_the_same(settings: Settings, functions_file: Path) -> None:
    async def run() -> list[str]:
        with Catalog.open(settings=settings) as opened:
            await opened.aingest(f"functions:{functions_file}")
            results = await asyncio.gather(*(opened.asearch("book a flight", 1) for _ in range(3)))
            return [result.hits[0].document.api for result in results]

    assert asyncio.run(run()) == ["search_flights"] * 3


def test_a_budget_leaves_out_what_does_not_fit(catalog: Catalog) -> None:
    everything = catalog.search("email the weather", 5)
    tight = catalog.search("email the weather", 5, budget=120)
    size = sum(len(json.dumps(definition)) for definition in tight.definitions("openai"))
    assert 0 < len(tight.hits) < len(everything.hits)
    assert size <= 4 * 120
    assert catalog.search("email the weather", 5, budget=0).hits == ()


def test_descriptions_are_slimmed_before_tools_are_dropped(settings: Settings, tmp_path: Path) -> None:
    source = tmp_path / "wordy.json"
    wordy = [
        {"name": name, "description": f"{what}. " + "And much more is to be said. " * 20, "parameters": {}}
        for name, what in (("get_weather", "Weather of a city"), ("send_email", "Send an email"))
    ]
    source.write_text(json.dumps([{"type": "function", "function": function} for function in wordy]))
    with Catalog.open(settings=settings) as opened:
        opened.ingest(f"functions:{source}")
        tight = opened.search("email the weather", budget=100)
        roomy = opened.search("email the weather", budget=1_000)
    assert {hit.document.api for hit in tight.hits} == {"get_weather", "send_email"}
    assert tight.slimmed == {hit.document.id for hit in tight.hits}
    assert "much more" not in json.dumps(tight.definitions("mcp"))
    assert not roomy.slimmed
    assert "much more" in json.dumps(roomy.definitions("mcp"))
    assert tight.trace[-1].details["tokens"] <= 100


def test_k_beyond_the_catalog_and_k_of_nothing(catalog: Catalog) -> None:
    assert len(found(catalog, "weather", k=1_000, profile="dense")) == 8
    assert found(catalog, "weather", k=0) == []
    with pytest.raises(RescorerError):
        catalog.search("weather", -1)


@pytest.mark.parametrize("k", [1.5, "3", None])
def test_a_number_of_hits_that_is_none_is_refused(catalog: Catalog, k: Any) -> None:
    with pytest.raises(InvalidRequest, match='give a whole number, or "auto"'):
        catalog.search("weather", k)


def test_a_budget_that_is_no_number_is_refused(catalog: Catalog) -> None:
    with pytest.raises(InvalidRequest, match="budget is '100': give a whole number of tokens"):
        catalog.search("weather", budget="100")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "request_text", ["", "   ", "AND OR NEAR(", '"', "NULL\0byte", "\ud800", "天気", "x " * 50_000]
)
def test_strange_requests_get_an_answer_or_a_typed_error(catalog: Catalog, request_text: str) -> None:
    assert len(catalog.search(request_text).hits) <= 5


@given(st.text(max_size=300))
@hypothesis_settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_text_is_a_request(catalog: Catalog, text: str) -> None:
    hits = catalog.search(text, 3, profile="hybrid").hits
    assert len({hit.document.id for hit in hits}) == len(hits) <= 3


def test_forbidden_apis_are_invisible_whatever_the_profile(settings: Settings, functions_file: Path) -> None:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(open_source(f"functions:{functions_file}", allowed=("alice",)))
        for profile in ("bm25", "dense", "toolrerank", "kitpick"):
            assert found(opened, "weather", profile=profile) == []
            alice = Filter(principals=frozenset({"alice"}))
            assert found(opened, "weather", profile=profile, filter=alice)


def test_searching_an_empty_catalog_says_what_to_do(settings: Settings) -> None:
    with Catalog.open(settings=settings) as opened, pytest.raises(EmptyCatalog, match="kitpick ingest"):
        opened.search("weather")


def test_a_source_that_lost_everything_deletes_nothing(catalog: Catalog, functions_file: Path) -> None:
    functions_file.write_text("[]")
    with pytest.raises(SuspiciousShrink):
        catalog.ingest(f"functions:{functions_file}")
    assert catalog.stats() is not None
    assert catalog.stats().documents == 8


def test_a_printed_answer_is_a_short_table(catalog: Catalog) -> None:
    lines = str(catalog.search("will it rain tomorrow in Rome?", 3)).splitlines()
    assert lines[0].split()[:3] == ["1", "functions:", "get_weather"]
    assert lines[0].endswith("%  Current weather and forecast for a city")
    assert len(lines) == 3
    nothing = catalog.search("paint the fence green", 3)
    assert nothing.abstained
    assert str(nothing).startswith("Nothing here is likely to do that: ")
    assert str(catalog.search("weather", 1, profile="bm25")).splitlines()[0].split()[:2] == [
        "1",
        "functions:",
    ]


def test_without_a_cross_encoder_the_answer_is_degraded_and_says_so(
    catalog: Catalog, settings: Settings, broken_model: str
) -> None:
    lesser = replace(settings, cross_encoder=broken_model)
    with Catalog.open(settings=lesser) as opened:
        result = opened.search("weather in Rome")
    assert result.hits[0].document.api == "get_weather"
    assert any("broken-model" in item.reason for item in result.degraded)


def test_without_an_encoder_words_still_find(catalog: Catalog, settings: Settings, broken_model: str) -> None:
    lesser = replace(settings, encoder=broken_model)
    with Catalog.open(settings=lesser) as opened:
        result = opened.search("weather in Rome", profile="hybrid")
    assert result.hits[0].document.api == "get_weather"
    assert result.degraded[0].stage == "embed"


def test_a_gpu_that_was_asked_for_and_is_not_there_is_an_error(catalog: Catalog, settings: Settings) -> None:
    gpu = replace(settings, provider="cuda")
    with Catalog.open(settings=gpu) as opened, pytest.raises(ProviderRefused):
        opened.search("weather")


def test_a_catalog_that_is_pickled_or_copied_says_what_to_pass_instead(catalog: Catalog) -> None:
    for copied in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"pass its URL, and use Catalog\.open\(URL\) there"):
            copied(catalog)
