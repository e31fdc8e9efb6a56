"""A model to talk to, and frameworks that call nobody else."""

from __future__ import annotations

import contextlib
import gc
import io
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, answering

from kitpick_engines.document import ApiDocument
from kitpick_ingest.function_names import function_name

AGENTS = (Path(__file__).resolve().parents[3] / "docs" / "agents.md").read_text("utf-8")


@pytest.fixture
def five_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    """Runs a section of 'Your agent in five minutes' as it is written, with the names that are the reader's.

    What it prints is what the section shows. Gives the names that it leaves.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KITPICK_EMBEDDING_CACHE", str(tmp_path / "embeddings.db"))
    (tmp_path / "tools.json").write_text(re.findall(r"```json\n(.*?)```", AGENTS, re.DOTALL)[0])
    sections = {part.partition("\n")[0]: part for part in re.split(r"^## ", AGENTS, flags=re.MULTILINE)}
    code = {name: re.findall(r"```python\n(.*?)```", part, re.DOTALL) for name, part in sections.items()}
    names: dict[str, Any] = {"__name__": "agents"}

    def run(section: str, **own: Any) -> dict[str, Any]:
        names.update(own)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            for block in dict.fromkeys((code["Anthropic"][0], *code[section])):
                exec(compile(block, "agents.md", "exec"), names)
        shown = sections[section].rpartition("```\n\n    ")[2].partition("\n\n")[0].split("\n    ")
        assert printed.getvalue().splitlines() == [line.rstrip() for line in shown]
        return names

    yield run
    if "catalog" in names:
        names["catalog"].close()


@pytest.fixture
def page_weather() -> str:
    """Name under which a model calls `get_weather` of that page."""
    return function_name(ApiDocument("tools/tools/get_weather", "tools", "", "tools", "get_weather"))


@pytest.fixture(autouse=True)
def _silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Frameworks that would call home are told not to; what they leave open is closed before the next."""
    for name in ("HAYSTACK_TELEMETRY_ENABLED", "LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
        monkeypatch.setenv(name, "false")
    for name in ("OPENAI_AGENTS_DISABLE_TRACING", "LITELLM_LOCAL_MODEL_COST_MAP"):
        monkeypatch.setenv(name, "true")
    yield
    with warnings.catch_warnings():
        # The pair of sockets of an event loop that a framework never closed, whichever test it is found in.
        warnings.filterwarnings("ignore", "unclosed <socket.socket fd=.*family=1,", ResourceWarning)
        warnings.filterwarnings("ignore", "unclosed event loop", ResourceWarning)
        gc.collect()


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    """A model that calls the first tool it is offered; the clients of OpenAI and Anthropic find it."""
    with answering() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "none")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "none")
        yield server


class Calls:
    """What was called, and with what."""

    def __init__(self) -> None:
        self.made: list[tuple[str, dict[str, Any]]] = []

    def run(self, document: Any, arguments: dict[str, Any]) -> dict[str, str]:
        self.made.append((document.api, arguments))
        return {"weather": "rain"}

    async def arun(self, document: Any, arguments: dict[str, Any]) -> dict[str, str]:
        return self.run(document, arguments)


@pytest.fixture
def weather() -> str:
    """Name under which a model calls `get_weather` of the catalog."""
    key = "functions/functions/get_weather"
    return function_name(ApiDocument(key, "functions", "", "functions", "get_weather"))


@pytest.fixture
def calls() -> Calls:
    return Calls()
