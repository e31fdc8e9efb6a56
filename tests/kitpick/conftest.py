"""A small real catalog: function schemas, taken in with the shipped encoder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import kitpick
from shared_models import remembering

from kitpick.catalog import Catalog
from kitpick.evaluation.measuring import Judged, Plan, judged_queries
from kitpick.settings import Settings

__all__ = ["kitpick"]


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


@pytest.fixture(scope="module", autouse=True)
def _remembering() -> Iterator[None]:
    """The same requests are asked of the same few functions in most of these tests."""
    with remembering():
        yield


@pytest.fixture
def functions_file(tmp_path: Path) -> Path:
    path = tmp_path / "functions.json"
    path.write_text(json.dumps(FUNCTIONS))
    return path


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings that live in a folder of their own; the environment says the same, for commands."""
    monkeypatch.setenv("KITPICK_CATALOG", f"sqlite:{tmp_path / 'catalog.db'}")
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    return Settings()


@pytest.fixture
def no_cross_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of the test rank by words and vectors alone: loading the others takes a second each."""
    monkeypatch.setenv("KITPICK_PROFILE", "hybrid")


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a catalog of the functions, and with the vectors of their texts: for copies."""
    folder = tmp_path_factory.mktemp("prepared")
    file = folder / "functions.json"
    file.write_text(json.dumps(FUNCTIONS))
    settings = Settings(embedding_cache=folder / "embeddings.db")
    with Catalog.open(f"sqlite:{folder / 'catalog.db'}", settings=settings) as made:
        made.ingest(f"functions:{file}")
    file.unlink()
    return folder


@pytest.fixture
def catalog(settings: Settings, functions_file: Path, prepared: Path) -> Iterator[Catalog]:
    """A catalog of the test's own, which a copy of `prepared` fills."""
    shutil.copytree(prepared, functions_file.parent, dirs_exist_ok=True)
    with Catalog.open(settings=settings) as opened:
        yield opened


_ASKS = {
    "get_weather": ("will it rain in Paris?", "how hot is it in Rome", "forecast for Oslo"),
    "send_email": ("write to Bob", "mail the report to Ann", "send a message to sales"),
    "create_event": ("put lunch with Ann on my calendar", "schedule a meeting", "remind me of the dentist"),
    "convert_currency": ("20 euros in yen", "how many dollars is a pound", "change money"),
    "translate_text": ("say hello in French", "what does this mean in English", "translate my letter"),
    "search_flights": ("fly to Berlin on Monday", "cheap tickets from Oslo to Rome", "book a plane"),
}


@pytest.fixture
def asks(catalog: Catalog) -> dict[str, str]:
    """Eighteen requests, each with the id of the API that serves it."""
    index, _ = catalog.live()
    ids = {key.rpartition("/")[2]: key for key, _ in catalog.engine.hashes(index)}
    return {text: ids[name] for name, texts in _ASKS.items() for text in texts}


@pytest.fixture
def judged(catalog: Catalog, asks: dict[str, str], tmp_path: Path) -> Judged:
    """The eighteen requests as judged ones."""
    lines = [{"query": text, "relevant": [api]} for text, api in asks.items()]
    file = tmp_path / "queries.jsonl"
    file.write_text("\n".join(json.dumps(line) for line in lines))
    return judged_queries(catalog, file, Plan(profiles=("kitpick",)))


_SLANG = {
    "get_weather": ("brolly check for {}", "brolly or not in {}", "do I take the brolly to {}"),
    "send_email": ("pigeon to {}", "let a pigeon fly to {}", "a pigeon for {} please"),
    "create_event": ("pin {} down", "please pin {} for us", "can you pin {} for noon"),
    "convert_currency": ("swap my {} dosh", "dosh of {} into ours", "what is the dosh of {} worth"),
}


@pytest.fixture
def slang(catalog: Catalog, tmp_path: Path) -> Judged:
    """Twenty-four judged requests (`slang.jsonl`) in words of the house that no text of the catalog has."""
    index, _ = catalog.live()
    ids = {key.rpartition("/")[2]: key for key, _ in catalog.engine.hashes(index)}
    lines = [
        json.dumps({"query": text.format(filled), "relevant": [ids[name]]})
        for name, texts in _SLANG.items()
        for text in texts
        for filled in ("Oslo", "Ann")
    ]
    file = tmp_path / "slang.jsonl"
    file.write_text("\n".join(lines))
    return judged_queries(catalog, file, Plan(profiles=("kitpick",)))


@pytest.fixture(scope="module")
def service_url() -> Iterator[str]:
    """Where `kitpick serve` answers, in a process of its own."""
    command = [sys.executable, "-c", "from kitpick.cli import main; main()", "serve"]
    command += ["--port", "0", "--set", "warm_up_seconds=0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert "kitpick serves" in first, first
        yield first.split()[2]
        process.send_signal(signal.SIGTERM)
