"""A small real catalog: function schemas, taken in with the shipped encoder."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolrank.catalog import Catalog
from toolrank.settings import Settings


def function(name: str, description: str, *parameters: str) -> dict[str, object]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}


FUNCTIONS = [
    function("get_weather", "Current weather and forecast for a city", "city"),
    function("send_email", "Send an email message to a recipient", "recipient", "subject", "body"),
    function("create_event", "Create a new event in the calendar", "title", "start", "end"),
    function(
        "convert_currency", "Convert an amount of money between two currencies", "amount", "source", "target"
    ),
    function("translate_text", "Translate a text into another language", "text", "language"),
    function(
        "search_flights", "Search for flights between two airports on a date", "origin", "destination", "date"
    ),
    function("get_stock_price", "Latest price of a share on the stock exchange", "symbol"),
    function("delete_file", "Delete a file from the disk for ever", "path"),
]


@pytest.fixture
def functions_file(tmp_path: Path) -> Path:
    path = tmp_path / "functions.json"
    path.write_text(json.dumps(FUNCTIONS))
    return path


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings that live in a folder of their own; the environment says the same, for commands."""
    monkeypatch.setenv("TOOLRANK_CATALOG", f"sqlite:{tmp_path / 'catalog.db'}")
    monkeypatch.setenv("TOOLRANK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    return Settings()


@pytest.fixture
def catalog(settings: Settings, functions_file: Path) -> Iterator[Catalog]:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(f"functions:{functions_file}")
        yield opened
