"""A real node with the plugin and ToolBench's APIs in it, for `scripts/bench plugin`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from shared_data import ROOT

sys.path[:0] = [str(ROOT / "tests" / "nodes"), str(ROOT / "tests" / "plugin")]

from keystore import write_key  # noqa: E402
from node_process import Node  # noqa: E402
from opensearch_node import opensearch_node  # noqa: E402
from searching import Search  # noqa: E402

from kitpick_engines.document import ApiDocument  # noqa: E402
from kitpick_engines.text import rerank_text  # noqa: E402

INDEX = "toolbench"
PIPELINE: dict[str, Any] = {
    "request_processors": [{"kitpick_window": {"window": 50}}],
    "response_processors": [{"kitpick": {}}],
}


def stored(document: ApiDocument) -> dict[str, Any]:
    """What the index holds of an API."""
    return {
        "text": rerank_text(document),
        "category": document.category,
        "tool": document.tool,
        "api": document.api,
        "tool_key": document.tool_key,
    }


@contextmanager
def filled_node(
    plugin: Path, endpoint: str, key: str, apis: dict[str, Any], settings: Sequence[str] = ()
) -> Iterator[Node]:
    """A running node with the plugin, the index `toolbench` of these APIs, and the pipeline `bench`."""
    with tempfile.TemporaryDirectory() as folder:
        named = [f"kitpick.endpoint={endpoint}", *settings]
        running = opensearch_node(Path(folder), [plugin], settings=named)
        write_key(Path(folder), key)
        try:
            search = Search(running.start().url)
            search.index(INDEX, apis)
            search.put("/_search/pipeline/bench", PIPELINE)
            yield running
        finally:
            running.stop()


def body_of(text: str, section: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
    """Path and body of a search for five hits; without a section the plugin has no part in it."""
    body: dict[str, Any] = {"size": 5, "query": {"match": {"text": text}}}
    if section is None:
        return f"/{INDEX}/_search", body
    return f"/{INDEX}/_search?search_pipeline=bench", body | {"ext": {"kitpick": {"query": text, **section}}}
