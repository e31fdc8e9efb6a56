"""What oversized requests do to a node with the plugin: part `memory` of `scripts/bench plugin`.

Eight clients send each of them twice: filters, texts, principals and profiles of many megabytes, as many
hits as a search may bring, a window of 1,000 long texts. `peak_mb`: the most memory of the node beyond what
it holds once warm; its heap is 512 MB. `lost`: requests without any answer. A usual search must be ranked
after all of it, and the plugin's own breaker must then hold nothing.
"""

from __future__ import annotations

import collections
import http.client
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from plugin_node import INDEX, filled_node  # isort: skip - adds folders to the path
from hostile.gateway import peak_mb
from plugin_load import copied
from searching import Client, Refused
from serving.process import UNCACHED
from serving.process import serving as serving_without_key

from kitpick.catalog import Catalog

CLIENTS = 8
ROUNDS = 2
WARM = 40
_PATIENT = ("kitpick.deadline=60s", "kitpick.breaker.failures=10000")


def memory(plugin: Path, apis: Mapping[str, Any], texts: Sequence[str], original: Catalog) -> dict[str, Any]:
    """Figures of one node; `original` is copied into it."""
    with (
        serving_without_key(UNCACHED) as service,
        filled_node(plugin, service.url, "key", dict(apis), _PATIENT) as node,
        copied(node, original) as (name, _),
    ):
        client = Client(node.url)
        _keep_long_texts(client)
        usual = {"size": 5, "query": {"kitpick": {"text": texts[0]}}}
        for _ in range(WARM):
            _outcome(client, f"/{name}/_search", usual)
        warm, lost = peak_mb(node.pid), 0
        for kind, (path, body) in oversized(name).items():
            told = _at_once(client, path, body)
            lost += told["lost"]
            print(f"{kind}: {dict(told)}, {peak_mb(node.pid) - warm:.0f} MB more than warm", flush=True)
        after = _outcome(client, f"/{name}/_search", usual)
        assert after == "rescored", after
        assert _held(client) == 0
        return {"peak_mb": round(peak_mb(node.pid) - warm), "lost": lost}


def oversized(name: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """Path and body of each request, by what is large in it."""
    own = {
        "a filter of 12 MB": {"text": "copy", "filter": _other_ids(58_000, 200)},
        "a filter of 2 MB": {"text": "copy", "filter": _other_ids(30_000, 60)},
        "a text of 8 MB": {"text": "copy a file " * 700_000},
        "600,000 principals": {"text": "copy", "principals": [f"p{n:08d}" for n in range(600_000)]},
    }
    asked: dict[str, tuple[str, dict[str, Any]]] = {
        kind: (f"/{name}/_search", {"size": 3, "query": {"kitpick": query}}) for kind, query in own.items()
    }
    asked["10,000 hits"] = (f"/{name}/_search", {"size": 10_000, "query": {"kitpick": {"text": "copy"}}})
    windows = {"window": 1_000, "query": "weather"}
    searched = {"size": 5, "query": {"match": {"text": "weather"}}}
    asked["a window of 1,000 long texts"] = (
        f"/{INDEX}-long/_search?search_pipeline=bench",
        searched | {"ext": {"kitpick": windows}},
    )
    stages = {"name": "large", "stages": [{"stage": "fuse", "note": "x" * 8_000_000}]}
    asked["a profile of 8 MB"] = (
        f"/{INDEX}/_search?search_pipeline=bench",
        searched | {"ext": {"kitpick": {"profile": stages, "query": "weather"}}},
    )
    return asked


def _other_ids(count: int, width: int) -> dict[str, Any]:
    return {"bool": {"must_not": [{"terms": {"id": [f"{n:0{width}d}" for n in range(count)]}}]}}


def _keep_long_texts(client: Client) -> None:
    items = {str(n): {"text": f"weather {n} " + "of this and that " * 1_200} for n in range(1_000)}
    client.put(f"/{INDEX}-long", {"settings": {"number_of_replicas": 0}})
    for start in range(0, len(items), 100):
        chunk = list(items.items())[start : start + 100]
        lines = [line for key, item in chunk for line in ({"index": {"_id": key}}, item)]
        client.call("POST", f"/{INDEX}-long/_bulk?refresh=true", lines)


def _at_once(client: Client, path: str, body: dict[str, Any]) -> collections.Counter[str]:
    with ThreadPoolExecutor(CLIENTS) as pool:
        sent = [pool.submit(_outcome, client, path, body) for _ in range(CLIENTS * ROUNDS)]
        return collections.Counter(each.result() for each in sent)


def _outcome(client: Client, path: str, body: dict[str, Any]) -> str:
    """What became of a search, in a word or two."""
    try:
        section = client.call("POST", path, body)["ext"]["kitpick"]
    except Refused as refused:
        return f"HTTP {refused.status} {json.loads(refused.body)['error']['type']}"
    except (OSError, http.client.HTTPException):
        return "lost"
    return str(section.get("reason", section["status"]))


def _held(client: Client) -> int:
    (node,) = client.call("GET", "/_nodes/stats/breaker")["nodes"].values()
    return int(node["breakers"]["kitpick"]["estimated_size_in_bytes"])
