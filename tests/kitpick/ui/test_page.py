"""The page in a real Chromium: what somebody sees, does with keys alone, and is told when it goes wrong."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick.ui import adapt_desk, adapt_runs
from kitpick.ui.adapt_runs import AdaptRuns
from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_evaluation.datasets.queries_file import queries_file
from kitpick_service.keys import digest, new_key

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve", "page")
Open = Callable[..., Any]
REQUEST = "will it rain in Paris tomorrow"
SHADES = """() => {
  const shade = colour => colour.match(/[0-9.]+/g).slice(0, 3).reduce((sum, part) => sum + +part, 0) / 765;
  const style = getComputedStyle(document.body);
  return [shade(style.color), shade(style.backgroundColor)];
}"""
WAITS_ONCE = """
import pathlib, sys, threading
print("read: 1 of 2", file=sys.stderr, flush=True)
again = pathlib.Path(sys.argv[1])
if not again.exists():
    again.touch()
    threading.Event().wait()
print("Adapted: the threshold is 0.2.")
"""
SIDEWAYS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def serious(page: Any) -> list[tuple[str, str]]:
    """Serious and critical findings of axe: the rule and where."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response
    assert found["passes"], "axe ran"
    return [
        (item["id"], str(item["nodes"][0]["target"]))
        for item in found["violations"]
        if item["impact"] in {"serious", "critical"}
    ]


def test_a_request_is_shown_on_its_way_through_all_stages(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    assert tab.page.input_value("#profile") == "kitpick"
    tab.explain(REQUEST, profile="kitpick", budget="300")
    for stage in (
        "find",
        "fuse",
        "cross_encode",
        "blend",
        "decode",
        "classify",
        "abstain",
        "learned",
        "pack",
    ):
        assert tab.page.locator("summary", has_text=stage).count() >= 1
    assert "get_forecast" in tab.page.locator(".hits > li").first.inner_text()
    for title in (
        "Answer",
        "Way through the stages",
        "Token budget",
        "All candidates",
    ):
        assert tab.page.get_by_role("heading", name=title, exact=True).is_visible()
    assert tab.page.locator("svg[role=img]").count() == 2, "ranks and budget are drawn"
    assert "of 300 tokens by" in tab.text
    assert tab.complaints == []


@pytest.mark.parametrize(
    "request_text",
    [
        "Will it rain in Paris tomorrow? Then mail the forecast to Marie.",
        "Will it rain in Paris tomorrow? Mail the forecast to Marie. Put a walk into my calendar. "
        "Translate the invitation into French. How much is that in dollars?",
    ],
    ids=["two sentences", "five sentences"],
)
def test_a_request_of_several_sentences_is_answered(open_tab: Open, shown: Any, request_text: str) -> None:
    tab = open_tab(shown.page)
    tab.explain(request_text)
    assert tab.page.locator(".hits > li").count() >= 2
    row = tab.page.locator("tr:has(button)").first
    row.get_by_role("button").click()
    assert "sentence rank" in tab.page.locator("tr:has(button) + tr").first.inner_text()
    assert tab.complaints == []


def test_a_plan_is_drawn_where_something_flows(open_tab: Open, show: Any, tmp_path: Path) -> None:
    documents = (
        ApiDocument(
            "s/music/concerts", "s", "", "music", "concerts", "Concerts of an artist.",
            needs=("artist_id=artist.id~9",),
        ),
        ApiDocument("s/music/search", "s", "", "music", "search", "Finds artists.", gives=("artist.id~9",)),
        ApiDocument("s/music/radio", "s", "", "music", "radio", "Plays an artist on the radio."),
    )  # fmt: skip
    with Catalog.open(f"sqlite:{tmp_path}/music.db", settings=Settings()) as catalog:
        index = catalog.engine.ensure(IndexSchema("none", 2, 1))
        with catalog.engine.writing(index) as writer:
            writer.write([IndexedDocument(each, np.array([1, 0], np.float32)) for each in documents])
    with show(f"sqlite:{tmp_path}/music.db", profile="bm25") as shown:
        tab = open_tab(shown.page)
        tab.explain("concerts of an artist and search", profile="bm25")
        steps = tab.page.locator(".plan > li").all_inner_texts()
        assert steps == ["search", "concerts takes artist_id from search"]
        drawn = tab.page.get_by_role("img", name="2 calls in order, 1 of their inputs filled by earlier ones")
        assert drawn.locator("path").count() == 1
        assert serious(tab.page) == []
        tab.explain("radio", profile="bm25", k="1")
        assert "No hit needs what another one gives." in tab.text
    assert tab.complaints == []


def test_the_first_screen_says_what_is_there_and_what_works_on_it(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    assert "shop.db" in tab.page.inner_text("#catalog > summary")
    assert "11 APIs in 1 category" in tab.text
    tried = tab.page.locator("#catalog li button")
    request = tried.first.inner_text()
    tried.first.click()
    tab.page.locator("#status", has_text="Answered").wait_for()
    assert tab.page.input_value("#request") == request
    first = tab.page.locator(".hits > li").first
    assert request.split()[1] in first.inner_text()
    assert re.search("right in about|right nearly always|hardly ever", first.inner_text())
    assert re.search("of the request points? to it", first.inner_text()), "why, in words"
    assert "rank 1" not in first.inner_text(), "the stages' terms are behind one click"
    assert re.search("The request reads as (one task|several)", tab.text)
    assert "Probability that several" not in tab.text
    assert not tab.page.get_by_role("heading", name="Token budget").is_visible(), "behind one click"
    assert tab.page.evaluate("document.querySelector('#catalog').open") is False
    assert tab.complaints == []


def test_that_nothing_fits_is_said_without_a_number(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    tab.page.fill("#request", "knit a pullover for my aunt")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("Nothing here is likely to do that. The nearest:").wait_for()
    assert "threshold" not in tab.text
    tab.page.get_by_text("How it was found").click()
    assert re.search(r"Nothing fits: .*threshold", tab.text), "behind one click"


def test_everything_in_it_can_be_browsed_down_to_the_definition(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    for name in ("office", "files", "delete_file"):
        tab.page.locator("details.shelf > summary", has_text=name).first.click()
        tab.page.wait_for_load_state("networkidle")
    tab.page.get_by_text("for everybody · shop/files/delete_file").wait_for()
    assert "Its source published no definition." in tab.text
    assert "payroll" not in tab.text, "it is for the boss alone"
    assert serious(tab.page) == []
    assert tab.complaints == []


def test_what_is_hard_to_find_is_looked_for_by_a_button(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    tab.page.get_by_role("button", name="Look for APIs that are hard to find").click()
    tab.page.get_by_text("11 of 11 APIs checked").wait_for()
    tab.page.get_by_role("button", name="Look again").wait_for()
    assert not tab.page.locator("progress").is_visible()
    assert "payroll" not in tab.text, "it is for the boss alone"
    assert serious(tab.page) == []
    assert tab.complaints == []


def test_a_profile_is_adapted_by_a_button_that_says_how_far_it_is_and_can_be_stopped(
    open_tab: Open, show: Any, shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", WAITS_ONCE, str(tmp_path / "again")]
    monkeypatch.setattr(adapt_desk, "AdaptRuns", partial(AdaptRuns, command=command))
    monkeypatch.setattr(adapt_runs, "_NICENESS", 0)  # beside other tests it would hardly run
    with show(shop, adapted=tmp_path / "mine.toml") as shown:
        tab = open_tab(shown.page)
        begin = tab.page.get_by_role("button", name="Adapt to what is in it")
        begin.click()
        tab.page.get_by_text("Under way: read: 1 of 2").wait_for()
        assert begin.is_disabled(), "one run at a time"
        assert serious(tab.page) == []
        tab.page.get_by_role("button", name="Stop adapting").click()
        tab.page.get_by_text("Stopped. Nothing was written.").wait_for()
        begin.click()
        tab.page.get_by_text("Done. The profile is in the file of --adapted").wait_for()
        assert "Adapted: the threshold is 0.2." in tab.text
        assert tab.complaints == []


def test_whoever_was_cut_can_be_asked_why(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    tab.explain(REQUEST, budget="150")
    cut = tab.page.locator("tr", has=tab.page.locator("td.cut")).first
    cut.get_by_role("button").click()
    assert "others are worth more" in tab.page.locator("tr:has(td.cut) + tr").first.inner_text()
    tab.page.locator("summary", has_text="pack").first.click()
    tab.page.get_by_text("APIs that were cut shown").wait_for()


def test_two_profiles_stand_side_by_side(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page, viewport={"width": 1400, "height": 900})
    tab.explain(REQUEST, profile="kitpick", other="bm25")
    assert tab.page.get_by_role("heading", name="kitpick against bm25").is_visible()
    assert "APIs stand elsewhere or are in one answer only" in tab.text
    left, right = (tab.page.get_by_role("heading", name=name, exact=True) for name in ("kitpick", "bm25"))
    assert left.last.bounding_box()["x"] < right.bounding_box()["x"]
    assert serious(tab.page) == []
    assert tab.complaints == []


def test_marks_are_kept_and_can_be_taken_back(open_tab: Open, show: Any, shop: str, tmp_path: Path) -> None:
    file = tmp_path / "judgements.jsonl"
    with show(shop, file) as shown:
        tab = open_tab(shown.page)
        tab.explain(REQUEST)
        right = tab.page.get_by_role("button", name="get_forecast of weather is right")
        right.click()
        tab.page.wait_for_selector(".right[aria-pressed=true]")
        tab.page.get_by_role("button", name=re.compile("is wrong$")).last.click()
        tab.page.wait_for_selector(".wrong[aria-pressed=true]")
        assert [(query.text, query.relevant) for query in queries_file(file)] == [
            (REQUEST, {"shop/weather/get_forecast"})
        ]
        tab.explain(REQUEST)
        assert tab.page.locator("[aria-pressed=true]").count() == 2, "they are there again"
        right.click()
        tab.page.locator("#status", has_text="is not marked any more").wait_for()
        assert queries_file(file) == ()
        assert tab.complaints == []


def test_everything_can_be_done_with_keys_alone(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    keys = tab.page.keyboard

    def focused(script: str) -> str:
        return str(tab.page.evaluate(f"document.activeElement.{script}"))

    def tab_to(wanted: Callable[[], bool]) -> None:
        for _ in range(80):
            keys.press("Tab")
            if wanted():
                return
        pytest.fail("it cannot be reached")

    assert focused("id") == "request", "somebody who opens the page can type"
    tab.page.locator(".skip").focus()
    keys.press("Enter")
    tab_to(lambda: focused("id") == "request")
    keys.type(REQUEST)
    tab_to(lambda: focused("textContent") == "More choices")
    assert not tab.page.locator("#k").is_visible(), "behind one click"
    keys.press("Enter")
    tab_to(lambda: focused("id") == "k")
    tab.page.locator("#request").focus()
    keys.press("Enter")
    tab.page.wait_for_selector(".hits > li")
    tab_to(lambda: focused("className") == "right")
    keys.press("Space")
    tab.page.wait_for_selector(".right[aria-pressed=true]")
    assert focused("className") == "right", "focus stays where it was"
    keys.press("Space")
    tab.page.locator("#status", has_text="is not marked any more").wait_for()
    tab_to(lambda: focused("textContent") == "How it was found")
    keys.press("Enter")
    tab_to(lambda: focused("tagName") == "SUMMARY" and "fuse" in focused("textContent"))
    keys.press("Enter")
    tab.page.get_by_text("candidates fused").wait_for()
    tab_to(lambda: focused("hasAttribute('data-row')") == "True")
    first = focused("title")
    keys.press("ArrowDown")
    assert focused("title") != first
    keys.press("Enter")
    assert focused("getAttribute('aria-expanded')") == "true"
    keys.press("Home")
    assert focused("title") == first
    keys.press("End")
    keys.press("ArrowDown")
    assert focused("title") != first, "the last row is the end"
    assert tab.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 768, 390])
def test_light_and_dark_wide_and_narrow_are_for_everybody(
    open_tab: Open, shown: Any, scheme: str, width: int
) -> None:
    tab = open_tab(shown.page, color_scheme=scheme, viewport={"width": width, "height": 900})
    assert serious(tab.page) == []
    tab.explain(REQUEST, budget="300")
    tab.open("")
    tab.page.wait_for_load_state("networkidle")
    assert serious(tab.page) == []
    assert tab.page.evaluate(SIDEWAYS) <= 0, "the page itself never scrolls sideways"
    heights = tab.page.locator(".pair button").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert max(heights) < 50, "no button is broken into lines"
    text, back = tab.page.evaluate(SHADES)
    darker, lighter = (text, back) if scheme == "light" else (back, text)
    assert (darker < 0.2, lighter > 0.7) == (True, True)
    assert tab.complaints == []


def test_what_a_catalog_says_stays_text(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    title = tab.page.title()
    tab.explain("write a note <img src=x onerror=document.title='owned'>", budget="2000")
    tab.open("")
    assert "document.title='owned'" in tab.text
    assert tab.page.title() == title
    assert tab.page.locator("main img, main script").count() == 0
    assert tab.complaints == []


def test_a_link_opens_an_answer(open_tab: Open, shown: Any) -> None:
    tab = open_tab(f"{shown.page}#request=send+an+email&profile=bm25&k=1&budget=")
    tab.page.wait_for_selector(".hits > li")
    tab.open(".machinery")
    assert "Profile bm25." in tab.text
    assert "No budget was asked for" in tab.text
    assert "1 hit of" in tab.page.inner_text("#status")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"request": "  "}, "the request is empty: type what is to be done"),
        ({"request": "a" * 20_001}, "20,001 characters of request: shorten it to 20,000"),
        ({"request": "a", "k": "0"}, "0 hits: ask for 1 to 10,000"),
        ({"request": "a", "budget": "-5"}, "a budget of -5 tokens"),
        ({"request": "a", "k": "2.5"}, "hits and token budget are whole numbers"),
    ],
)
def test_what_goes_wrong_is_told_with_its_cure(
    open_tab: Open, shown: Any, given: dict[str, str], said: str
) -> None:
    tab = open_tab(shown.page)
    tab.open("#choices")
    for name, value in given.items():
        tab.page.fill(f"#{name}", value)
    tab.page.get_by_role("button", name="Find tools").click()
    tab.page.get_by_role("alert").filter(has_text="It did not work").wait_for()
    assert said in tab.page.inner_text("#problem")
    tab.explain(REQUEST, k="5", budget="")
    assert tab.page.inner_text("#problem") == "", "the next good answer clears it"


def test_a_server_that_stopped_is_told(open_tab: Open, show: Any, shop: str) -> None:
    with show(shop) as shown:
        tab = open_tab(shown.page)
        assert "--marks" not in tab.text, "where marks would be is soon enough"
        tab.explain(REQUEST)
        assert "start the server with --marks FILE" in tab.text
        assert "--marks" not in tab.page.inner_text("#about")
        assert tab.page.locator("[aria-pressed]").count() == 0
    tab.page.get_by_role("button", name="Find tools").click()
    tab.page.get_by_role("alert").filter(has_text="is `kitpick serve --ui` still running?").wait_for()


def test_an_answer_that_was_cut_off_is_told(open_tab: Open, shown: Any) -> None:
    tab = open_tab(shown.page)
    tab.page.route("**/api/explain", lambda route: route.fulfill(status=200, body='{"hits": ['))
    tab.page.fill("#request", REQUEST)
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("alert").filter(has_text="It did not work").wait_for()
    assert "the server's answer cannot be read" in tab.page.inner_text("#problem")


@pytest.mark.parametrize("body", ["<html>", "null", '{"message": "bad gateway"}', '{"error": "bad gateway"}'])
def test_a_refusal_of_whoever_stands_between_is_told(open_tab: Open, shown: Any, body: str) -> None:
    tab = open_tab(shown.page)
    tab.page.route("**/api/explain", lambda route: route.fulfill(status=502, body=body))
    tab.page.fill("#request", REQUEST)
    tab.page.keyboard.press("Enter")
    tab.page.get_by_role("alert").filter(has_text="It did not work").wait_for()
    assert "the server answered 502, and not in words" in tab.page.inner_text("#problem")


def test_an_empty_catalog_is_told(open_tab: Open, show: Any, tmp_path: Path) -> None:
    with show(f"sqlite:{tmp_path / 'empty.db'}") as shown:
        tab = open_tab(shown.page)
        assert "take something in with `kitpick ingest SOURCE`" in tab.page.inner_text("#problem")
        assert serious(tab.page) == []


def test_a_degraded_answer_says_so(open_tab: Open, show: Any, tmp_path: Path) -> None:
    """The index holds another model's vectors."""
    url = f"sqlite:{tmp_path / 'other.db'}"
    with Catalog.open(url, settings=Settings()) as catalog:
        index = catalog.engine.ensure(IndexSchema("another-encoder", 4, 1))
        with catalog.engine.writing(index) as writer:
            document = ApiDocument(
                id="s/t/get_weather", source="s", category="c", tool="t", api="get_weather"
            )
            writer.write([IndexedDocument(document, np.array([1, 0, 0, 0], dtype=np.float32))])
    with show(url) as shown:
        tab = open_tab(shown.page)
        tab.explain("weather")
        assert "Answered with less than usual (embed): the index holds vectors of another-encoder" in tab.text
        assert "get_weather" in tab.page.inner_text(".hits")


def test_a_key_is_asked_for_and_kept(open_tab: Open, show: Any, shop: str, tmp_path: Path) -> None:
    key = new_key()
    keys = tmp_path / "keys.toml"
    keys.write_text(f"[[keys]]\nname = 'me'\nsha256 = '{digest(key)}'\n")
    with show(shop, keys=str(keys)) as shown:
        tab = open_tab(shown.page)
        assert "a known API key is required" in tab.page.inner_text("#problem")
        tab.page.get_by_label("API key or token").fill(key)
        tab.page.get_by_role("button", name="Use it").click()
        tab.page.locator("#profile option").first.wait_for(state="attached")
        tab.explain(REQUEST)
        assert tab.page.locator(".hits > li").count() > 0
        assert not tab.page.evaluate("document.cookie || localStorage.length || sessionStorage.length")
