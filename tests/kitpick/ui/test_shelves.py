"""The catalog as a caller may see it: sizes, shelves, and requests that find what they ask for."""

from __future__ import annotations

from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick.ui import shelves as shelves_module
from kitpick.ui.desk import catalog_name
from kitpick.ui.shelves import CatalogListing, Shelves, as_request, examples, listing
from kitpick_engines.contract import Filter
from kitpick_engines.document import ApiDocument, encode_document
from kitpick_rescorers.errors import EmptyCatalog
from kitpick_rescorers.intents.written import Enrichment, ShownTo
from kitpick_service.keys import digest, new_key

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")
BOSS = Filter(principals=frozenset({"boss"}))


def test_the_overview_counts_what_the_caller_may_see(shown: Any) -> None:
    overview = shown.ask("overview").json()
    assert (overview["name"], overview["apis"], overview["more"]) == ("shop.db", 11, False)
    assert overview["categories"] == [{"name": "office", "tools": 9, "apis": 11}]
    assert overview["models"] == "default"


def test_its_examples_find_what_they_were_written_for(shown: Any) -> None:
    requests = shown.ask("overview").json()["examples"]
    assert len(requests) == 3
    first = [shown.explain(request, k=1)["hits"][0]["description"] for request in requests]
    assert all(said.lower().startswith(text[:20].lower()) for said, text in zip(first, requests, strict=True))


def test_a_shelf_is_a_category_or_a_tool_of_it(shown: Any) -> None:
    tools = shown.ask("browse", {"category": "office"}).json()["tools"]
    assert {"name": "weather", "apis": 2} in tools
    assert "payroll" not in {tool["name"] for tool in tools}
    apis = shown.ask("browse", {"category": "office", "tool": "weather"}).json()["apis"]
    assert [api["api"] for api in apis] == ["get_forecast", "get_weather"]
    assert shown.ask("browse", {"category": "none"}).json() == {"tools": [], "apis": []}


def test_an_api_of_others_is_shown_to_nobody(show: Any, shop: str, shown: Any, tmp_path: Path) -> None:
    secret = {"id": "shop/payroll/pay_salaries"}
    assert shown.ask("show", secret).status_code == 404
    assert shown.ask("show", {"id": "shop/mail/list_emails"}).json()["restricted"] is False
    key = new_key()
    keys = tmp_path / "keys.toml"
    keys.write_text(f"[[keys]]\nname = 'b'\nsha256 = '{digest(key)}'\nprincipals = ['boss']\n")
    with show(shop, keys=str(keys)) as guarded:
        named = {"authorization": f"Bearer {key}"}
        assert guarded.ask("show", secret).status_code == 401
        assert guarded.ask("show", secret, **named).json()["restricted"] is True
        assert guarded.ask("overview", **named).json()["apis"] == 12


def test_what_was_written_about_an_api_of_others_is_shown_to_nobody_else(
    show: Any, shop: str, tmp_path: Path
) -> None:
    copied = f"sqlite:{copytree(Path(shop.partition(':')[2]).parent, tmp_path / 'shop') / 'shop.db'}"
    text, then_for = (
        "does it rain on the boss",
        {"get_weather": ShownTo(), "get_forecast": ShownTo("", ("boss",))},
    )
    with Catalog.open(copied, settings=Settings()) as catalog:
        encoder = catalog.models.queries
        for name, readers in then_for.items():
            entry = Enrichment(f"shop/weather/{name}", "", "m@host", 0.0, "kept", text, (), (text,), readers)
            catalog.enricher().store.put(entry, encoder.vectors((text,)), encoder.identity)
    with show(copied) as page:
        said = [page.ask("show", {"id": f"shop/weather/{name}"}).json()["requests"] for name in then_for]
    assert said == [[text], []], "the second was the boss's alone when this was written about it"


def test_the_time_of_the_newest_change_is_told_to_who_sees_everything(shop: str) -> None:
    with Catalog.open(shop, settings=Settings()) as catalog:
        stats = catalog.stats()
        shelves = Shelves(catalog)
        assert stats is not None
        assert shelves.of(BOSS).changed == stats.changed is not None
        assert shelves.of(Filter()).changed is None, "it would say when tools of others changed"


def test_a_listing_is_kept_for_a_minute_and_for_one_caller(shop: str) -> None:
    now = [0.0]
    with Catalog.open(shop, settings=Settings()) as catalog:
        shelves = Shelves(catalog, lambda: now[0])
        mine = shelves.of(Filter())
        assert shelves.of(Filter()) is mine
        assert len(shelves.of(BOSS).lines) == len(mine.lines) + 1
        now[0] = 61.0
        again = shelves.of(Filter())
        assert again == mine
        assert again is not mine


def test_documents_of_others_take_no_place_in_a_listing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shelves_module, "MOST", 10)
    documents = [
        ApiDocument(f"{tenant}/{number:02}", "d", "", "tool", f"do_{number}", "Does it", tenant=tenant)
        for tenant, count in (("acme", 30), ("globex", 3), ("hooli", 12))
        for number in range(count)
    ]
    (tmp_path / "d.jsonl").write_bytes(b"\n".join(map(encode_document, documents)))
    with Catalog.open(f"sqlite:{tmp_path / 'c.db'}", settings=Settings()) as catalog:
        catalog.ingest(f"documents:{tmp_path / 'd.jsonl'}", name="d")
        shelves = Shelves(catalog)
        shown = {tenant: shelves.of(Filter(tenant=tenant)) for tenant in ("acme", "globex", "hooli", "other")}
        assert [(len(each.lines), each.more) for each in shown.values()] == [
            (10, True), (3, False), (10, True), (0, False),
        ]  # fmt: skip
        monkeypatch.setattr(shelves_module, "MOST_READ", 20)
        assert Shelves(catalog).of(Filter(tenant="globex")).more, "nobody looked further"


@pytest.mark.parametrize(("most", "more"), [(11, True), (12, False), (13, False)])
def test_a_listing_says_that_there_is_more_of_the_caller(shop: str, most: int, more: bool) -> None:
    with Catalog.open(shop, settings=Settings()) as catalog:
        shown = listing(catalog.documents(BOSS), most)
        assert (len(shown.lines), shown.more) == (min(most, 12), more)


def test_examples_are_kept_as_long_as_their_listing(shop: str) -> None:
    now, asked = [0.0], list[CatalogListing]()

    def find(listing: CatalogListing) -> tuple[str, ...]:
        asked.append(listing)
        if len(asked) == 1:
            raise TimeoutError
        return (f"example {len(asked)}",)

    with Catalog.open(shop, settings=Settings()) as catalog:
        shelves = Shelves(catalog, lambda: now[0])
        with pytest.raises(TimeoutError):
            shelves.examples(Filter(), find)
        assert [shelves.examples(Filter(), find) for _ in range(2)] == [("example 2",)] * 2
        assert asked[1] is shelves.of(Filter())
        assert shelves.examples(BOSS, find) == ("example 3",)
        now[0] = 61.0
        assert shelves.examples(Filter(), find) == ("example 4",)


def test_an_empty_catalog_has_no_listing(tmp_path: Path) -> None:
    with (
        Catalog.open(f"sqlite:{tmp_path / 'empty.db'}", settings=Settings()) as catalog,
        pytest.raises(EmptyCatalog),
    ):
        Shelves(catalog).of(Filter())


@pytest.mark.parametrize(
    ("description", "request_text"),
    [
        ("Lists the messages of a mailbox. Newest first.", "list the messages of a mailbox"),
        ("Copies a file to another place", "copy a file to another place"),
        ("Pushes a commit to the branch!", "push a commit to the branch"),
        ("Current weather of a city: rain and wind.", "current weather of a city: rain and wind"),
        ("Deprecated.", ""),
        ("**Note** this is an internal tool", ""),
        ("", ""),
        ("word " * 40, ""),
    ],
)
def test_a_first_sentence_becomes_a_request(description: str, request_text: str) -> None:
    assert as_request(description) == request_text


def test_only_what_is_found_first_is_an_example() -> None:
    asked: list[str] = []

    def first(text: str) -> str | None:
        asked.append(text)
        return {"b": "2", "c": "3", "d": "4", "e": "5"}.get(text)

    found = examples([("1", "a"), ("2", "b"), ("3", "c"), ("4", "d"), ("5", "e")], first)
    assert found == ("b", "c", "d")
    assert asked == ["a", "b", "c", "d"], "no more is searched for than is shown"


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("sqlite:/home/me/tools.db", "tools.db"),
        ("sqlite:tools.db", "tools.db"),
        ("opensearch+https://me:secret@host:9200/tools?verify=false", "tools"),
    ],
)
def test_a_catalogs_name_tells_neither_folder_nor_secret(url: str, name: str) -> None:
    assert catalog_name(url) == name
