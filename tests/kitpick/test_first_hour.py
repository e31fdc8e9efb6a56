"""What people try in the first hour with a catalog of their own functions."""

from __future__ import annotations

import asyncio
import copy
import pickle
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kitpick import Catalog, SyncOptions, quickstart
from kitpick.cli.main import guarded
from kitpick.conversation import NothingAsked
from kitpick.errors import ExitCode
from kitpick_engines.errors import EngineUnavailable, UnknownEngine
from kitpick_engines.opening import open_engine
from kitpick_ingest.errors import SuspiciousShrink, UnknownSource
from kitpick_rescorers.errors import InvalidRequest

pytestmark = pytest.mark.needs("weights", "onnxruntime")


def get_weather(city: str) -> str:
    """Current weather and forecast for a city."""
    return city


async def send_email(to: str) -> None:
    """Sends an email message to a recipient."""


def create_event(title: str) -> None:
    """Creates a new event in the calendar."""


TOOLS = [get_weather, send_email, create_event]


@pytest.fixture
def empty(tmp_path: Path, catalog: Catalog) -> Iterator[Catalog]:
    """A catalog that nothing was taken into; its models are loaded already."""
    with Catalog(open_engine(f"sqlite:{tmp_path / 'own.db'}"), catalog.settings, catalog.models) as opened:
        yield opened


@pytest.fixture
def own(empty: Catalog) -> Catalog:
    empty.ingest(TOOLS)
    return empty


def apis(catalog: Catalog) -> set[str]:
    return {document.api for document in catalog.documents()}


def test_functions_are_found_and_called(own: Catalog) -> None:
    found = own.search("will it rain in Paris?", k=1)
    (definition,) = found.definitions("openai")
    called = found.called(definition["function"]["name"])
    assert {each.__name__: each for each in TOOLS}[called.api] is get_weather


def test_a_result_is_a_sequence_of_its_hits(own: Catalog) -> None:
    found = own.search("will it rain in Paris?")
    assert len(found) == 3
    assert found[0].document.api == "get_weather"
    assert [hit.rank for hit in found] == [1, 2, 3]
    assert bool(found)
    assert not own.search("rain", k=0)
    assert str(found).splitlines()[0].split()[:3] == ["1", "tools:", "get_weather"]


def test_a_result_can_be_kept(own: Catalog) -> None:
    found = own.search("will it rain in Paris?")
    assert pickle.loads(pickle.dumps(found)) == found
    assert copy.deepcopy(found) == found
    assert msgspec.json.decode(msgspec.json.encode(found))["hits"][0]["document"]["api"] == "get_weather"


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_catalog_of_few_tools(empty: Catalog, number: int) -> None:
    assert empty.ingest(TOOLS[:number]).added == number
    for k in (1, 3, 1_000):
        assert len(empty.search("will it rain?", k=k)) == min(k, number)


def test_tools_come_and_go_while_the_program_runs(own: Catalog) -> None:
    assert own.ingest([*TOOLS, {"name": "get_time", "description": "The time in a city."}]).added == 1
    assert own.ingest(TOOLS).deleted == 1
    with pytest.raises(SuspiciousShrink, match=r"SyncOptions\(allow_shrink=True\)"):
        own.ingest(TOOLS[:1])
    assert own.ingest(TOOLS[:1], options=SyncOptions(allow_shrink=True)).deleted == 2
    assert apis(own) == {"get_weather"}


def test_lists_of_different_names_live_side_by_side(own: Catalog) -> None:
    own.ingest([get_weather], name="other")
    assert {document.id for document in own.documents()} >= {
        "tools/tools/get_weather",
        "other/other/get_weather",
    }


def test_of_two_tools_of_one_name_the_first_is_kept_and_the_report_says_so(empty: Catalog) -> None:
    report = empty.ingest([get_weather, {"name": "get_weather", "description": "Another one."}])
    assert (report.added, report.dead_letters) == (1, 1)
    assert "duplicate id" in report.notes[0]


def test_what_is_no_tool_is_left_out_and_named(empty: Catalog) -> None:
    report = empty.ingest([get_weather, None])
    assert (report.added, report.dead_letters) == (1, 1)
    assert "tools[1]" in report.notes[0]


@pytest.mark.parametrize("source", [None, b"tools", get_weather, {"name": "x"}, 5, (each for each in TOOLS)])
def test_what_is_no_source_says_what_one_is(empty: Catalog, source: Any) -> None:
    with pytest.raises(UnknownSource, match="a list of declarations"):
        empty.ingest(source)


def test_a_path_is_a_source(empty: Catalog, tmp_path: Path) -> None:
    (tmp_path / "own.json").write_text('[{"name": "get_time", "parameters": {"type": "object"}}]')
    assert empty.ingest(tmp_path / "own.json").added == 1


@pytest.mark.parametrize("request_", [None, b"rain", 5, {"role": "user", "content": "rain"}])
def test_what_is_no_request_says_what_one_is(own: Catalog, request_: Any) -> None:
    with pytest.raises(InvalidRequest, match="a text, or the messages"):
        own.search(request_)


def test_an_empty_request_finds_nothing_and_says_so(own: Catalog) -> None:
    assert own.search("").abstained
    with pytest.raises(NothingAsked):
        own.search([])


def test_numbers_below_zero_are_refused(own: Catalog) -> None:
    for bad in ({"k": -1}, {"budget": -1}):
        with pytest.raises(InvalidRequest, match="-1"):
            own.search("rain", **bad)  # type: ignore[arg-type]


def test_names_that_are_not_there_say_which_are(own: Catalog) -> None:
    found = own.search("rain", k=1)
    with pytest.raises(ValueError, match="openai, responses, anthropic"):
        found.definitions("yaml")  # type: ignore[arg-type]
    with pytest.raises(KeyError, match="get_weather"):
        found.called("nope")


def test_a_running_loop_as_in_a_notebook_changes_nothing(own: Catalog) -> None:
    async def cell() -> list[str]:
        several = await asyncio.gather(own.asearch("rain"), own.asearch("write an email"))
        return [own.search("rain")[0].document.api, *(found[0].document.api for found in several)]

    assert asyncio.run(cell()) == ["get_weather", "get_weather", "send_email"]


def test_threads_share_a_catalog(own: Catalog) -> None:
    found: list[str] = []
    ask = [
        threading.Thread(target=lambda: found.append(own.search("rain")[0].document.api)) for _ in range(4)
    ]
    for each in ask:
        each.start()
    for each in ask:
        each.join()
    assert found == ["get_weather"] * 4


def test_a_catalog_is_opened_by_a_path_and_closed_twice(own: Catalog) -> None:
    path = Path(own.engine.url.removeprefix("sqlite:"))
    with Catalog.open(path, settings=own.settings) as again:
        assert apis(again) == {each.__name__ for each in TOOLS}
    again.close()
    with pytest.raises(EngineUnavailable, match="closed"):
        again.search("rain")


def test_the_quickstart_says_which_extra_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in {"botocore", *(name for name in sys.modules if name.startswith("botocore."))}:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setattr(sys, "argv", ["quickstart", "--catalog", str(tmp_path / "aws.db")])
    with pytest.raises(SystemExit) as end:
        guarded(quickstart.main)
    assert end.value.code == ExitCode.UNAVAILABLE
    assert "pip install 'kitpick[aws]'" in capsys.readouterr().err


def test_no_catalog_is_kept_in_memory() -> None:
    with pytest.raises(UnknownEngine, match="temporary folder"):
        Catalog.open("sqlite::memory:")
