"""A page opened with ten thousand hits: a page of them at a time, as quick to turn as one of ten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_engines.text import TEMPLATE_VERSION

pytestmark = [pytest.mark.needs("weights", "onnxruntime", "serve", "page"), pytest.mark.slow]
HALF = 5_000
REQUEST = "monthly report"


@pytest.fixture(scope="module")
def many(show: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Half of the APIs are found by words alone, the other half by vector alone."""
    url = f"sqlite:{tmp_path_factory.mktemp('many') / 'many.db'}"
    with Catalog.open(url, settings=Settings()) as catalog:
        encoder = catalog.models.encoder
        query = encoder.encode([REQUEST])[0]
        schema = IndexSchema(encoder.identity, len(query), TEMPLATE_VERSION)
        noise = np.random.default_rng(7).normal(size=(2 * HALF, len(query)))
        index = catalog.engine.ensure(schema)
        with catalog.engine.writing(index) as writer:
            writer.write([document(n, n % 2 == 0, query, noise[n]) for n in range(2 * HALF)])
    with show(url) as shown:
        yield shown


def document(number: int, by_words: bool, query: Any, noise: Any) -> IndexedDocument:
    words = "Monthly report." if by_words else "Something else."
    vector = noise / np.linalg.norm(noise) + (-query if by_words else query)
    name = f"api_{number:05}"
    fields = {"source": "s", "category": "c", "tool": f"tool_{number % 40}"}
    made = ApiDocument(id=f"s/t/{name}", api=name, description=f"{words} Number {number}.", **fields)
    return IndexedDocument(made, (vector / np.linalg.norm(vector)).astype(np.float32))


def test_all_of_them_are_told_and_a_page_is_shown(many: Any, open_tab: Callable[..., Any]) -> None:
    tab = open_tab(many.page)
    tab.explain(REQUEST, profile="hybrid", k="10000", budget="")
    assert "10,000 hits of 10,000 candidates" in tab.page.inner_text("#status")
    assert "First 20 of 10,000 hits shown." in tab.text
    assert "First 20 of 10,000 candidates shown." in tab.text
    assert tab.page.evaluate("document.querySelectorAll('*').length") < 5_000
    tab.page.locator("section", has_text="hits shown").get_by_role("button", name="Next").first.click()
    assert "21 to 40 of 10,000 hits shown." in tab.text
    assert tab.page.locator(".hits > li").first.inner_text().startswith("21. ")
    tab.page.get_by_label("Only ids with").fill("api_09999")
    assert "All 1 candidates shown." in tab.text
    assert tab.complaints == []


def test_a_budget_over_all_of_them_is_kept(many: Any) -> None:
    answer = many.explain(REQUEST, profile="hybrid", k=10_000, budget=2_000)
    assert answer["packing"]["used"] <= 2_000
    assert len(answer["stages"][-1]["cut"]) == 10_000 - len(answer["hits"])


def test_the_trace_of_the_answer_has_a_bounded_size(many: Any, tmp_path: Path) -> None:
    answer = many.ask("explain", {"query": REQUEST, "profile": "hybrid", "k": 10_000})
    assert answer.status_code == 200
    assert len(answer.content) < 8_000_000


def test_the_first_and_the_last_page_keep_the_focus(many: Any, open_tab: Callable[..., Any]) -> None:
    tab = open_tab(many.page)
    tab.explain(REQUEST, profile="hybrid", k="30", budget="")
    bar = tab.page.locator(".pager").first
    for pressed, focused in (("Next", "Previous"), ("Previous", "Next")):
        bar.get_by_role("button", name=pressed).press("Enter")
        assert tab.page.evaluate("document.activeElement.textContent") == focused
