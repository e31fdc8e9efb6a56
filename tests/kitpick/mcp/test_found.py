"""`tools/list`: for how long it holds, and what it lists for a client that sends a `query`."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
from doors import NOTES, PATIENCE
from raw_client import RawClient

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument
from kitpick_service.keys import digest

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")
GROUPS = "io.modelcontextprotocol/groups"
CALLERS = "".join(
    f"\n[[callers]]\nname = '{name}'\nsha256 = '{digest(name)}'\nmay_call = {may_call}\n"
    for name, may_call in (("alice", "true"), ("guest", "false"))
)


@contextmanager
def gateway(folder: Path, settings: Settings) -> Iterator[Any]:
    """A client of the HTTP application of a gateway."""
    from starlette.testclient import TestClient

    from kitpick.mcp.config import Caller, read_config
    from kitpick.mcp.server import CatalogServer

    (folder / "mcp.toml").write_text(NOTES + CALLERS)
    with Catalog.open(settings=settings) as catalog:
        server = CatalogServer(catalog, read_config(folder / "mcp.toml"), Caller("local"))
        with TestClient(server.app("127.0.0.1"), base_url="http://127.0.0.1:8081") as http:
            yield http


def names(listed: dict[str, Any]) -> list[str]:
    return [tool["name"] for tool in listed["result"]["tools"]]


def test_a_query_lists_what_may_be_called_and_the_rest_is_as_ever(settings: Settings, tmp_path: Path) -> None:
    with gateway(tmp_path, settings) as http:
        alice, guest = RawClient(http, "alice"), RawClient(http, "guest")
        assert "search_tools" in names(alice.answer("tools/list"))
        until = time.monotonic() + PATIENCE
        while "_meta" in alice.answer("tools/list", query="a note")["result"]:
            assert time.monotonic() < until, "its server was not taken in"
        listed = alice.answer("tools/list", query="read a note by its title")
        note = names(listed)[0]
        assert note.startswith("notes_read_note")
        assert listed["result"]["tools"][0]["inputSchema"]["required"] == ["title"]
        groups = {group for tool in listed["result"]["tools"] for group in tool["_meta"][GROUPS]}
        assert groups == {"notes"}, "each tool is in the group of its server"
        assert not any("secret" in name or "remove_note" in name for name in names(listed)), (
            "not to be called"
        )
        assert alice.call(note, title="shopping")["content"][0]["text"] == "read_note: shopping"
        assert names(guest.answer("tools/list", query="read a note by its title")) == []
        refused = guest.call(note, title="shopping")
        assert refused["isError"]
        assert f"there is no tool '{note}'" in refused["content"][0]["text"], (
            "it was never shown to the guest"
        )
        for wrong in ({"query": " "}, {"query": 3}, {"query": "a note", "cursor": "7"}):
            assert alice.answer("tools/list", **wrong)["error"]["code"] == -32602


class Shelf:
    """A source of 25 notes."""

    name = "shelf"

    def read(self) -> Iterator[ApiDocument]:
        for number in range(25):
            yield ApiDocument(f"shelf/{number}", "shelf", "", "shelf", f"note_{number}", "Reads a note")


def test_pages_of_a_query_follow_each_other(settings: Settings) -> None:
    from kitpick.mcp.config import Caller, McpConfig
    from kitpick.mcp.found import QueriedTools
    from kitpick.mcp.proxy import Proxy

    class OpenProxy(Proxy):
        """A gateway through which everything could be called."""

        def refusal(self, document: Any, caller: Any) -> str:
            return ""

    async def ask(found: QueriedTools) -> list[int]:
        sizes, cursor, listed = [], None, set[str]()
        while True:
            page = await found.page("read a note", cursor, Caller("c"))
            sizes.append(len(page.tools))
            listed |= {tool.name for tool in page.tools}
            cursor = page.next_cursor
            if cursor is None:
                break
        assert len(listed) == 25
        known = [await found.named(name, Caller("c")) for name in listed]
        assert {document.id for document in known if document is not None} == {
            f"shelf/{n}" for n in range(25)
        }
        assert await found.named("no_such_tool", Caller("c")) is None
        return sizes

    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(Shelf())
        found = QueriedTools(catalog, OpenProxy(catalog, McpConfig()), "bm25")
        assert anyio.run(ask, found) == [20, 5]


def test_what_one_caller_was_shown_neither_hides_nor_displaces_what_another_is() -> None:
    from kitpick.mcp.config import Caller
    from kitpick.mcp.found import ListedNames

    names, ann, eve = ListedNames(most=10), Caller("ann", tenant="acme"), Caller("eve", tenant="globex")
    assert names.add(eve, "read_note", "globex/note"), "eve was shown the name first"
    assert names.add(ann, "read_note", "acme/note")
    assert not names.add(ann, "read_note", "acme/other"), "one name, one tool for the same caller"
    assert (names.of(ann, "read_note"), names.of(eve, "read_note")) == ("acme/note", "globex/note")
    for number in range(50):
        assert names.add(eve, f"flood_{number}", f"globex/{number}")
    assert names.of(ann, "read_note") == "acme/note"
    assert [names.of(eve, f"flood_{number}") for number in (40, 49)] == [None, "globex/49"]
    assert names.of(Caller("ann", tenant="globex"), "read_note") is None, "of another tenant: another caller"


def test_a_list_says_for_how_long_it_holds(catalog: Catalog) -> None:
    from kitpick.mcp.config import Caller, McpConfig, UpstreamConfig
    from kitpick.mcp.proxy import Proxy
    from kitpick.mcp.tools import CatalogTools

    def listed(**more: Any) -> Any:
        upstream = UpstreamConfig("notes", "https://notes.example.com/mcp", **more)
        proxy = Proxy(catalog, McpConfig(upstreams=(upstream,)))
        return anyio.run(CatalogTools(catalog, proxy, None, calls=True).listed, Caller("c"))

    same = listed()
    assert (same.ttl_ms, same.cache_scope) == (300_000, "public"), "the same for everybody, until a restart"
    changing = listed(listed=("*",))
    assert (changing.ttl_ms, changing.cache_scope) == (0, "private"), "its server has not listed anything yet"
