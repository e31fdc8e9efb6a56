"""Tools of a conversation: what is loaded is read from it, bounded, and within permissions."""

from __future__ import annotations

from typing import Any

import pytest

from kitpick.adapters.conversation_tools import ConversationTools
from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter
from kitpick_ingest.opening import open_source

pytestmark = pytest.mark.needs("weights", "onnxruntime")

RAIN, MAIL = {"capabilities": ["forecast the weather"]}, {"capabilities": ["send an email"]}


def test_what_was_found_is_loaded_in_the_order_in_which_it_was_found(
    catalog: Catalog, calls: Any, weather: str
) -> None:
    tools = ConversationTools(catalog, calls.run, k=1)
    first, second = tools.search(RAIN), tools.search(MAIL)
    assert first.text == f"loaded: {weather}"
    kept = [first.kept(), second.kept(), first.kept()]
    assert [tool.document.api for tool in tools.loaded(kept)] == ["get_weather", "send_email"]
    another = ConversationTools(catalog, calls.run)
    assert [tool.document.api for tool in another.loaded(kept)] == ["get_weather", "send_email"]
    assert tools.loaded(kept)[0].call({"city": "Paris"}) == {"weather": "rain"}
    assert catalog.feedback(first.answer, first.ids, client="ann") == 1


def test_nothing_fits_is_said(catalog: Catalog, calls: Any) -> None:
    tools = ConversationTools(catalog, calls.run)
    assert tools.search({"capabilities": ["paint the fence green"]}).text.startswith("no tool fits")
    both = tools.search({"capabilities": ["forecast the weather", "paint the fence green"]})
    assert "nothing fits: paint the fence" in both.text


@pytest.mark.parametrize("k", [2, "auto"])
def test_a_search_goes_on_behind_what_an_earlier_one_found(catalog: Catalog, calls: Any, k: Any) -> None:
    tools = ConversationTools(catalog, calls.run, k=k)
    asked = {"capabilities": ["forecast the weather"]}
    first = tools.search(asked)
    second = tools.search(asked | {"offset": len(first.ids)})
    order = [hit.id for hit in catalog.search("forecast the weather", 8).hits]
    assert [*first.ids, *second.ids] == order[: len(first.ids) + len(second.ids)]
    assert second.ids
    over = tools.search(asked | {"offset": 100})
    assert over.text.startswith("no tool fits: there are no more of these")
    assert "the search failed" in tools.search(asked | {"offset": 101}).text


@pytest.mark.parametrize("wrong", [{}, None, "weather", {"capabilities": []}, {"query": "weather"}])
def test_a_search_that_is_asked_wrongly_says_so(catalog: Catalog, calls: Any, wrong: Any) -> None:
    assert "the search failed" in ConversationTools(catalog, calls.run).search(wrong).text


@pytest.mark.parametrize(
    "kept",
    [None, "x", {"kitpick": "x"}, {"kitpick": [1, None]}, {"kitpick": ["no/such/tool"]}, {"other": []}],
)
def test_whatever_a_conversation_holds_loads_nothing_that_was_not_found(
    catalog: Catalog, calls: Any, kept: Any
) -> None:
    assert ConversationTools(catalog, calls.run).loaded([kept]) == []


def test_definitions_are_bounded_in_tokens(catalog: Catalog, calls: Any) -> None:
    tools = ConversationTools(catalog, calls.run, most=120)
    ids = [document.id for document in catalog.documents()]
    assert 0 < len(tools.loaded([{"kitpick": [key]} for key in ids])) < len(ids)


def test_forged_ids_do_not_show_what_may_not_be_seen(
    settings: Settings, functions_file: Any, calls: Any
) -> None:
    with Catalog.open(settings=settings) as opened:
        opened.ingest(open_source(f"functions:{functions_file}", allowed=("staff",)))
        forged = [{"kitpick": ["functions/functions/send_email"]}]
        assert ConversationTools(opened, calls.run).loaded(forged) == []
        staff = Filter(principals=frozenset({"staff"}))
        assert len(ConversationTools(opened, calls.run, filter=staff).loaded(forged)) == 1
