"""Calls of tools that were found are feedback, whatever framework makes them."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from kitpick.adapters.feedback import reporting
from kitpick.adapters.tools import call_beside, callable_tools
from kitpick.catalog import Catalog
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument

pytestmark = pytest.mark.needs("weights", "onnxruntime")

RAIN = "will it rain in Paris?"
WEATHER = "functions/functions/get_weather"


def said(catalog: Catalog) -> tuple[list[str], list[str]]:
    """Clients that chose the weather, and clients for whom it failed."""
    tally = catalog.intents.behind(RAIN, Filter()).get(WEATHER)
    return ([], []) if tally is None else (list(tally.choices), list(tally.objections))


def test_a_call_that_succeeds_is_a_choice_and_one_that_fails_is_told_as_such(
    catalog: Catalog, calls: Any
) -> None:
    result = catalog.search(RAIN)

    def broken(document: ApiDocument, arguments: dict[str, Any]) -> Any:
        raise OSError("the server is gone")

    tool = callable_tools(result, reporting(calls.run, catalog, result, client="ann"))[0]
    assert tool.call({"city": "Paris"}) == {"weather": "rain"}
    assert said(catalog) == (["ann"], [])
    failing = callable_tools(result, reporting(broken, catalog, result, client="bob"))[0]
    with pytest.raises(OSError, match="gone"):
        failing.call({"city": "Paris"})
    assert said(catalog) == (["ann"], ["bob"])


def test_an_async_run_stays_async(catalog: Catalog, calls: Any) -> None:
    result = catalog.search(RAIN)
    tool = callable_tools(result, reporting(calls.arun, catalog, result, client="ann"))[0]
    assert tool.is_async
    assert asyncio.run(tool.acall({"city": "Paris"})) == {"weather": "rain"}
    assert said(catalog) == (["ann"], [])


def test_what_is_awaited_later_is_told_when_it_is_done(catalog: Catalog, calls: Any) -> None:
    result = catalog.search(RAIN)

    async def broken(document: ApiDocument, arguments: dict[str, Any]) -> Any:
        raise OSError("the server is gone")

    def starting(run: Any) -> Any:
        def start(document: ApiDocument, arguments: dict[str, Any]) -> Any:
            return run(document, arguments)

        return start

    working = reporting(starting(calls.arun), catalog, result, client="ann")
    failing = reporting(starting(broken), catalog, result, client="bob")
    first, second = (callable_tools(result, run)[0] for run in (working, failing))
    assert asyncio.run(call_beside(first, {"city": "Paris"})) == {"weather": "rain"}
    with pytest.raises(OSError, match="gone"):
        asyncio.run(call_beside(second, {"city": "Paris"}))
    assert said(catalog) == (["ann"], ["bob"])


def test_no_call_fails_for_its_feedback(
    catalog: Catalog, calls: Any, caplog: pytest.LogCaptureFixture
) -> None:
    result = catalog.search(RAIN)
    catalog.forget()
    tool = callable_tools(result, reporting(calls.run, catalog, result))[0]
    with caplog.at_level(logging.WARNING):
        assert tool.call({"city": "Paris"}) == {"weather": "rain"}
    assert "was lost: no answer has the id" in caplog.text
