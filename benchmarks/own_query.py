"""The plugin's own query beside Python over the same index: part `dsl` of `scripts/bench engines`.

A real node with the plugin asks a real service. Neither has a deadline that a loaded machine could miss, so
whatever is degraded has another reason, and is printed with its request.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from kitpick.catalog import Catalog

TESTS = Path(__file__).parents[1] / "tests"
SECONDS = 600
"""The longest deadline that a node takes."""
_SHOWN = 5


class Asked(NamedTuple):
    """Ids of the ten best by a `kitpick` query, best first, and what could not be done for it."""

    ids: list[str]
    degraded: list[Any]


def compare_own_query(catalog: Catalog, address: str, requests: Sequence[str]) -> dict[str, Any]:
    """The share of requests that the plugin's own query answers as Python does.

    Args:
        catalog: in OpenSearch.
        address: of the same catalog's `_search`, on a node with the plugin.
        requests: in words.
    """
    different, degraded = [], []
    for text in requests:
        ours = ask(address, text)
        theirs = catalog.search(text, 10)
        ids = [hit.document.id for hit in theirs.hits]
        reasons = [*ours.degraded, *({"python": f"{each.stage}: {each.reason}"} for each in theirs.degraded)]
        if reasons:
            degraded.append({"request": text[:80], "degraded": reasons})
            print(f"degraded: {text[:80]!r}: {reasons}", flush=True)
        if ours.ids != ids:
            different.append({"request": text[:80], "plugin": ours.ids, "python": ids})
            print(f"different: {text[:80]!r}", flush=True)
    return {
        "requests": len(requests),
        "same_top10_dsl": 1 - len(different) / len(requests),
        "different_dsl": different[:_SHOWN],
        "degraded_dsl": degraded,
    }


def ask(address: str, text: str) -> Asked:
    """The answer to a `kitpick` query."""
    body = json.dumps({"size": 10, "query": {"kitpick": {"text": text}}, "_source": ["id"]}).encode()
    request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=2 * SECONDS) as response:
        answer = json.loads(response.read())
    said = answer["ext"]["kitpick"]
    reasons = [said["message"]] if "message" in said else []
    return Asked([hit["_source"]["id"] for hit in answer["hits"]["hits"]], said.get("degraded", []) + reasons)


@contextlib.contextmanager
def node_with_plugin() -> Iterator[str]:
    """HTTP address of an OpenSearch node with the plugin, which asks a service that was started for it."""
    sys.path[:0] = [str(TESTS / "nodes"), str(TESTS / "plugin")]
    from building import build
    from keystore import write_key
    from opensearch_node import opensearch_node
    from real_service import serving

    plugin = build("package", "-DskipTests")
    patient = ("--set", f"deadline_seconds={SECONDS}")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder), *patient) as service:
        settings = [f"kitpick.endpoint={service.url}", f"kitpick.deadline={SECONDS}s"]
        (home := Path(folder) / "node").mkdir()
        running = opensearch_node(home, [plugin], settings=settings)
        write_key(home, service.key)
        try:
            yield running.start().url
        finally:
            running.stop()
