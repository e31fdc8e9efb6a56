"""The whole way: settings, a search with a profile that asks a language model, and that model behind HTTP."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_models.locate import find_model
from kitpick_rescorers.profiles import load_profile
from kitpick_training.own.demorank import POOL, RERANKER, RETRIEVER, Demonstration, DemoRank, pool_lines

pytestmark = pytest.mark.needs("weights", "onnxruntime", "llm")

FUNCTIONS = [
    {"name": "get_weather", "description": "Current weather of a city. Quality 1", "parameters": {}},
    {"name": "weather_map", "description": "Weather of a city as a map. Quality 2", "parameters": {}},
    {"name": "rain_radar", "description": "Weather radar of a city. Quality 3", "parameters": {}},
]


@pytest.fixture
def catalog(tmp_path: Path) -> Any:
    source = tmp_path / "functions.json"
    source.write_text(json.dumps([{"type": "function", "function": function} for function in FUNCTIONS]))
    settings = Settings(
        catalog=f"sqlite:{tmp_path / 'catalog.db'}", embedding_cache=tmp_path / "embeddings.db"
    )
    with Catalog.open(settings=settings) as opened:
        opened.ingest(f"functions:{source}")
    return settings


def found(settings: Settings, profile: Any = "rankgpt", **changes: object) -> Any:
    with Catalog.open(settings=replace(settings, **changes)) as opened:
        return opened.search("weather in Rome", profile=profile)


def names(result: Any) -> list[str]:
    return [hit.document.api for hit in result.hits]


def test_the_model_decides_the_order(catalog: Settings, fake) -> None:
    endpoint = fake()
    result = found(catalog, llm_url=endpoint.url, llm_model="m")
    assert names(result) == ["rain_radar", "weather_map", "get_weather"]
    assert not result.degraded
    assert "weather in Rome" in endpoint.asked[0]["messages"][1]["content"]


def test_an_address_that_is_none_of_http_is_told(catalog: Settings) -> None:
    told = found(catalog, llm_url="hf:/models/mine", llm_model="m").degraded
    assert any("must begin with http" in item.reason for item in told)


def test_a_model_that_fails_changes_nothing_but_is_told(catalog: Settings, fake) -> None:
    usual = found(catalog)
    assert [item.stage for item in usual.degraded] == ["rankgpt"]
    failed = found(catalog, llm_url=fake("html").url, llm_model="m")
    assert names(failed) == names(usual)
    assert "no chat completion" in failed.degraded[0].reason


@pytest.fixture
def demonstrations(tmp_path: Path) -> Path:
    """A folder as training leaves it, with the shipped models in the place of trained ones."""
    folder = tmp_path / "demonstrations"
    folder.mkdir()
    (folder / RETRIEVER).symlink_to(find_model("encoder-pair"))
    (folder / RERANKER).symlink_to(find_model("reranker-l6"))
    written = [
        Demonstration("rain in Oslo", "f/get_weather", True, "get weather. Current weather of a city."),
        Demonstration("play a song", "f/get_weather", False, "get weather. Current weather of a city."),
        Demonstration("bake bread", "f/recipe", True, "recipe. Finds recipes."),
    ]
    (folder / POOL).write_bytes(pool_lines(written))
    return folder


def odds(body: dict[str, Any]) -> dict[str, float]:
    """Yes by the number at the end of a description."""
    quality = int(re.findall(r"\d+", body["messages"][-1]["content"])[-1]) / 10
    return {"Yes": quality / 2, " yes": quality / 2, "No": 0.9 - quality}


def demorank(folder: Path | str) -> Any:
    return load_profile("hybrid").then(DemoRank(demonstrations=str(folder)))


def test_the_model_says_yes_after_demonstrations(catalog: Settings, demonstrations: Path, fake) -> None:
    endpoint = fake(tokens=odds)
    result = found(catalog, demorank(demonstrations), llm_url=endpoint.url, llm_model="m")
    assert names(result) == ["rain_radar", "weather_map", "get_weather"]
    assert not result.degraded
    roles = [message["role"] for message in endpoint.asked[0]["messages"]]
    assert roles == ["system", *["user", "assistant"] * 2, "user"]
    assert "rain in Oslo" in str(endpoint.asked[0]["messages"])


@pytest.mark.parametrize("broken", ["no pool", "no texts", "no model"])
def test_demonstrations_that_cannot_be_used_are_told(
    catalog: Settings, demonstrations: Path, fake, broken: str
) -> None:
    if broken == "no pool":
        (demonstrations / POOL).unlink()
    elif broken == "no texts":
        (demonstrations / POOL).write_bytes(pool_lines([Demonstration("x", "y", True)]))
    else:
        (demonstrations / RERANKER).unlink()
    result = found(catalog, demorank(demonstrations), llm_url=fake(tokens=odds).url, llm_model="m")
    assert names(result) == names(found(catalog, "hybrid"))
    assert [item.stage for item in result.degraded] == ["demorank"]
