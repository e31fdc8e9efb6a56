"""The whole way: settings, a search with the profile `rankgpt`, a language model behind HTTP."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolrank.catalog import Catalog
from toolrank.settings import Settings

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


def found(settings: Settings, **changes: object) -> Any:
    with Catalog.open(settings=settings.model_copy(update=changes)) as opened:
        return opened.search("weather in Rome", profile="rankgpt")


def names(result: Any) -> list[str]:
    return [hit.document.api for hit in result.hits]


def test_the_model_decides_the_order(catalog: Settings, fake) -> None:
    endpoint = fake()
    result = found(catalog, llm_url=endpoint.url, llm_model="m")
    assert names(result) == ["rain_radar", "weather_map", "get_weather"]
    assert not result.degraded
    assert "weather in Rome" in endpoint.asked[0]["messages"][1]["content"]


def test_a_model_that_fails_changes_nothing_but_is_told(catalog: Settings, fake) -> None:
    usual = found(catalog)
    assert [item.stage for item in usual.degraded] == ["rankgpt"]
    failed = found(catalog, llm_url=fake("html").url, llm_model="m")
    assert names(failed) == names(usual)
    assert "no chat completion" in failed.degraded[0].reason
