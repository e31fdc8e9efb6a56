"""`kitpick search` and its neighbours: what they refuse with a suggestion, and what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kitpick.catalog import Catalog
from kitpick.errors import ExitCode
from kitpick.settings import Settings
from kitpick_ingest.opening import open_source

pytestmark = pytest.mark.needs("weights", "onnxruntime")


@pytest.fixture
def shop(catalog: Catalog, functions_file: Path, tmp_path: Path) -> Catalog:
    """Eight public APIs of the category `Finance`, and one that only admins may see."""
    functions = json.loads(functions_file.read_text())
    (tmp_path / "money.json").write_text(json.dumps(functions))
    (tmp_path / "hidden.json").write_text(json.dumps(functions[:1]))
    catalog.ingest(open_source(f"functions:{tmp_path / 'money.json'}", name="money", category="Finance"))
    catalog.ingest(
        open_source(
            f"functions:{tmp_path / 'hidden.json'}", name="hidden", category="Secrets", allowed=("admins",)
        )
    )
    return catalog


def tool_of(catalog: Catalog, source: str) -> str:
    index, _ = catalog.live()
    documents = (item.document for item in catalog.engine.documents(index))
    return next(document.tool_key for document in documents if document.source == source)


def test_an_unknown_category_is_refused_with_the_nearest(shop: Catalog, kitpick) -> None:
    refused = kitpick("search", "euros in yen", "--category", "Finanze")
    assert refused.code == ExitCode.INPUT
    assert refused.out == ""
    assert "no API of the catalog has the category 'Finanze': did you mean 'Finance'?" in refused.err


def test_one_known_category_beside_an_unknown_one_does_not_hide_it(shop: Catalog, kitpick) -> None:
    refused = kitpick("search", "euros in yen", "--category", "Finance", "--category", "Finanze", "--json")
    assert (refused.code, refused.out) == (ExitCode.INPUT, "")


def test_an_unknown_tool_is_refused_with_the_nearest_also_without_its_category(
    shop: Catalog, kitpick
) -> None:
    key = tool_of(shop, "money")
    tool = key.partition("/")[2]
    for wrong in (f"{key}x", tool, tool + "s"):
        refused = kitpick("search", "euros in yen", "--tool", wrong)
        assert refused.code == ExitCode.INPUT, wrong
        assert repr(key) in refused.err, wrong


def test_known_names_are_searched(shop: Catalog, kitpick) -> None:
    asked = ("search", "euros in yen", "-k", "1", "--category", "Finance", "--tool", tool_of(shop, "money"))
    assert "convert_currency" in kitpick(*asked).out


def test_what_nobody_may_see_is_neither_known_nor_suggested(shop: Catalog, kitpick) -> None:
    refused = kitpick("search", "rain", "--category", "Secrets")
    assert refused.code == ExitCode.INPUT
    assert "Secrets'?" not in refused.err
    assert "get_weather" in kitpick("search", "rain", "--category", "Secrets", "--principal", "admins").out
    suggested = kitpick("search", "rain", "--category", "Secret", "--principal", "admins")
    assert "did you mean 'Secrets'?" in suggested.err


def test_who_sees_nothing_is_told_so(settings: Settings, functions_file: Path, kitpick) -> None:
    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(open_source(f"functions:{functions_file}", name="x", allowed=("admins",)))
    assert (
        "none that this tenant and principal may see has a category"
        in kitpick("search", "rain", "--category", "x").err
    )


@pytest.mark.parametrize("command", [["search", "x"], ["lint"]])
def test_a_catalog_that_does_not_exist_is_refused_with_the_nearest(
    catalog: Catalog, tmp_path: Path, kitpick, command: list[str]
) -> None:
    absent = tmp_path / "catlog.db"
    refused = kitpick(*command, "-c", f"sqlite:{absent}")
    assert refused.code == ExitCode.INPUT
    assert f"sqlite:{absent}: there is no such catalog: did you mean 'catalog.db'?" in refused.err
    assert "kitpick ingest" in refused.err
    assert not absent.exists()


def test_a_catalog_in_a_folder_that_does_not_exist_is_refused(kitpick, tmp_path: Path) -> None:
    refused = kitpick("search", "x", "-c", str(tmp_path / "no" / "where.db"))
    assert refused.code == ExitCode.INPUT
    assert "there is no such catalog: `kitpick ingest SOURCE` makes one" in refused.err


@pytest.mark.parametrize("blank", ["", "  ", "\n\t", "\u200b\ufeff"])
def test_an_empty_request_is_refused(catalog: Catalog, kitpick, blank: str) -> None:
    for refused in (kitpick("search", blank), kitpick("search", "-", stdin=blank)):
        assert refused.code == ExitCode.INPUT
        assert refused.out == ""
        assert "the request is empty" in refused.err


def test_json_carries_the_work_behind_the_hits_only_with_explain(catalog: Catalog, kitpick) -> None:
    plain = kitpick("search", "email Bob", "--json").out
    answer = json.loads(plain)
    assert [hit["rank"] for hit in answer["hits"]] == [1, 2, 3, 4, 5]
    assert "abstained" in answer
    assert not answer["trace"]
    assert not answer["timings"]
    explained = json.loads(kitpick("search", "email Bob", "--json", "--explain").out)
    assert explained["trace"]
    assert explained["timings"]
    assert explained["hits"] == answer["hits"]


def test_lint_takes_its_catalog_like_every_command(catalog: Catalog, kitpick) -> None:
    checked = kitpick("lint", "-c", catalog.engine.url, "--sample", "2", "--json")
    assert json.loads(checked.out)["asked"] == 2


def test_the_doctor_finds_a_catalog_broken_that_was_named_and_is_not_there(
    settings: Settings, tmp_path: Path, kitpick
) -> None:
    assert kitpick("doctor").code == ExitCode.OK, "before the first ingest nothing is broken"
    named = kitpick("doctor", "--json", "-c", f"sqlite:{tmp_path / 'catlog.db'}")
    assert named.code == ExitCode.UNAVAILABLE
    assert "there is no such catalog" in named.out


def test_auto_gives_as_many_hits_as_are_needed(shop: Catalog, kitpick) -> None:
    found = json.loads(kitpick("search", "euros in yen", "-k", "auto", "--json").out)
    probabilities = [hit["probability"] for hit in found["hits"]]
    whole = json.loads(kitpick("search", "euros in yen", "-k", "20", "--json").out)
    expected = sum(hit["probability"] for hit in whole["hits"])
    assert sum(probabilities) >= 0.9 * expected > sum(probabilities[:-1])


def test_a_number_of_hits_that_is_none_is_refused(shop: Catalog, kitpick) -> None:
    for wrong in ("many", "-1", "1.5", "", "9" * 5_000):
        refused = kitpick("search", "euros in yen", "-k", wrong)
        assert refused.code == ExitCode.USAGE
        assert "neither a number" in refused.err


def test_what_a_source_says_is_shown_and_not_obeyed(settings: Settings, kitpick, tmp_path: Path) -> None:
    """Neither markup, at which the table would fail, nor what would move the cursor or change the title."""
    file = tmp_path / "tools.json"
    description = "Weather [/] and [bold]alerts \x1b[31mred\x1b[0m \x1b]0;title\x07 \u202edesrever"
    file.write_text(json.dumps([{"name": "weather", "description": description}]))
    taken = kitpick("ingest", f"functions:{file}", "--name", "[/q]")
    found = kitpick("search", "weather alerts", "--explain")
    assert (taken.code, found.code) == (0, 0)
    assert "[/q]" in taken.out
    assert "Weather [/] and [bold]alerts \ufffd[31mred" in found.out
    assert not set("\x1b\x07\r\u202e") & set(taken.out + taken.err + found.out + found.err)


@pytest.mark.parametrize("option", ["--tenant", "--principal", "--category", "--tool", "--profile"])
def test_options_that_are_no_utf_8_are_answered(catalog: Catalog, kitpick, option: str) -> None:
    told = kitpick("search", "convert euros to dollars", option, "\udcff\udcfe")
    assert told.code == (0 if option in {"--tenant", "--principal"} else ExitCode.INPUT)
    assert "Traceback" not in told.err


def test_names_that_are_no_utf_8_are_refused(settings: Settings, kitpick, functions_file: Path) -> None:
    for option in ("--name", "--tenant", "--allow", "--category"):
        refused = kitpick("ingest", f"functions:{functions_file}", option, "\udcff")
        assert refused.code == ExitCode.INPUT, option
        assert "is no text in UTF-8" in refused.err
