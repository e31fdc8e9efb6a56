"""Definitions of megabytes, as a hostile server publishes them: answers and lists hold so many."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import pytest

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.document import ApiDocument

pytestmark = pytest.mark.needs("weights", "onnxruntime", "mcp")
MIB = 1024 * 1024


def document(name: str, size: int) -> ApiDocument:
    return ApiDocument(
        f"shelf/shelf/{name}", "shelf", "", "shelf", name, "Does it",
        definition=f'{{"name": "{name}", "description": "{"x" * size}"}}',
    )  # fmt: skip


class Shelf:
    """A source of three large definitions and a small one."""

    name = "shelf"

    def read(self) -> Iterator[ApiDocument]:
        yield from (document(name, 2 * MIB) for name in ("a", "b", "c"))
        yield document("small", 1)


def test_one_answer_holds_so_many_definitions_and_names_the_others(settings: Settings) -> None:
    from kitpick.mcp.config import Caller, McpConfig
    from kitpick.mcp.proxy import Proxy
    from kitpick.mcp.tools import CatalogTools

    with Catalog.open(settings=settings) as catalog:
        catalog.ingest(Shelf())
        tools = CatalogTools(catalog, Proxy(catalog, McpConfig()), None, calls=False)

        def asked(*names: str) -> dict[str, Any]:
            ids = {"ids": [f"shelf/shelf/{name}" for name in names]}
            answer = anyio.run(tools.answer, "get_definition", ids, Caller("x"))
            return dict(answer.structured_content or {})

        answer = asked("small", "a", "b", "c")
        assert [tool["id"] for tool in answer["tools"]] == ["shelf/shelf/small", "shelf/shelf/a"]
        assert answer["left_out"] == ["shelf/shelf/b", "shelf/shelf/c"]
        assert "by itself" in answer["problem"]
        for name in answer["left_out"]:
            alone = asked(name.rpartition("/")[2])
            assert ([tool["id"] for tool in alone["tools"]], "left_out" in alone) == ([name], False)


def test_a_list_of_tools_has_none_of_megabytes(caplog: pytest.LogCaptureFixture) -> None:
    from kitpick.mcp.found import small_enough

    small, large = document("small", 1), document("large", MIB)
    assert small_enough([large, small]) == [small]
    assert "shelf/shelf/large is not listed" in caplog.text
