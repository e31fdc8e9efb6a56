"""What the tests ask the node for, over plain HTTP: no client library stands between them and the JSON."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

KEY = "the-key-of-this-node"
QUERY = "weather forecast"
TOTAL = 30
"""Documents in `apis`, all of which match QUERY; `d00` matches best, `d29` worst."""

PIPELINE: dict[str, Any] = {
    "request_processors": [
        {"kitpick_window": {"window": 20, "fields": ["text", "category", "tool", "api", "tool_key"]}}
    ],
    "response_processors": [{"kitpick": {"query_path": "query.match.text.query"}}],
}


class Refused(Exception):
    """The node answered with an error."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"HTTP {status}: {body[:2000]}")
        self.status = status
        self.body = body


class Client:
    """One who asks a node; `headers` say who."""

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        self.url = url
        self.headers = dict(headers or {})

    def put(self, path: str, body: object) -> Any:
        return self.call("PUT", path, body)

    def call(self, method: str, path: str, body: object = None) -> Any:
        """Sends a body (a list: one JSON document a line) and returns the parsed answer."""
        if isinstance(body, list):
            data = "".join(json.dumps(line) + "\n" for line in body).encode()
        else:
            data = None if body is None else json.dumps(body).encode()
        kind = "application/x-ndjson" if isinstance(body, list) else "application/json"
        headers = {"Content-Type": kind, **self.headers}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with self.open(request) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.code, error.read().decode()) from None

    def open(self, request: urllib.request.Request) -> Any:
        """Sends it."""
        return urllib.request.urlopen(request, timeout=60)

    def fill(self, name: str, items: Mapping[str, Mapping[str, Any]], index: Mapping[str, Any]) -> None:
        """Makes an index of these documents, replacing one of the same name."""
        self.call("DELETE", f"/{name}?ignore_unavailable=true")
        self.put(f"/{name}", index)
        lines: list[Mapping[str, Any]] = []
        for key, item in items.items():
            lines += [{"index": {"_id": key}}, item]
        answer = self.call("POST", f"/{name}/_bulk?refresh=true", lines)
        assert not answer["errors"], answer


@contextmanager
def setting(client: Client, name: str, value: object) -> Iterator[None]:
    """The cluster has this setting within the block."""
    client.put("/_cluster/settings", {"transient": {name: value}})
    try:
        yield
    finally:
        client.put("/_cluster/settings", {"transient": {name: None}})


class Search(Client):
    """A node with the index `apis` and the pipeline `kitpick`."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.index("apis", documents(TOTAL), shards=3)
        self.put("/_search/pipeline/kitpick", PIPELINE)

    def index(self, name: str, items: Mapping[str, Mapping[str, Any]], shards: int = 1) -> None:
        """Makes an index of these documents, with vectors, replacing one of the same name."""
        settings = {"number_of_shards": shards, "number_of_replicas": 0, "knn": True}
        self.fill(name, items, {"settings": {"index": settings}, "mappings": MAPPINGS})

    def __call__(
        self, body: Mapping[str, Any] | None = None, index: str = "apis", pipeline: str = "kitpick"
    ) -> Any:
        """Searches for QUERY; `body` adds to that or replaces parts of it."""
        whole = {"query": {"match": {"text": QUERY}}, **(body or {})}
        # Statistics over all shards: else the first-stage order depends on which shard holds what.
        parameters = f"search_type=dfs_query_then_fetch&search_pipeline={pipeline}"
        return self.call("POST", f"/{index}/_search?{parameters}", whole)


MAPPINGS: dict[str, Any] = {
    "properties": {
        "text": {"type": "text"},
        "category": {"type": "keyword"},
        "tool": {"type": "keyword"},
        "api": {"type": "keyword"},
        "tool_key": {"type": "keyword"},
        "tenant": {"type": "keyword"},
        "allowed": {"type": "keyword"},
        "number": {"type": "integer"},
        "vector": {
            "type": "knn_vector",
            "dimension": 4,
            "method": {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"},
        },
    }
}


def documents(count: int, prefix: str = "d") -> dict[str, dict[str, Any]]:
    """Documents that match QUERY the less, the higher their number."""
    return {
        f"{prefix}{n:02d}": {
            "text": "weather forecast " + "and other things " * n,
            "category": "Weather",
            "tool": f"tool{n % 3}",
            "api": f"api{n}",
            "tool_key": f"Weather/tool{n % 3}",
            "tenant": "acme" if n % 2 else "globex",
            "number": n,
        }
        for n in range(count)
    }


def ids(answer: Mapping[str, Any]) -> list[str]:
    return [hit["_id"] for hit in answer["hits"]["hits"]]


def report(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What the plugin says of itself in the answer."""
    section: dict[str, Any] = answer["ext"]["kitpick"]
    return section


def numbered(numbers: Sequence[int] | range) -> list[str]:
    return [f"d{n:02d}" for n in numbers]
