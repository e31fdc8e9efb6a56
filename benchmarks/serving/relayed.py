"""A search server in memory: it answers the searches of `POST /v1/search`, and conversations are recorded.

So the service can be asked for whole searches without a node. Documents and vectors are real; the searches
are answered by brute force, as far as the service reads the answers.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from kitpick_engines.contract import IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument
from kitpick_engines.document_vectors import document_vectors
from kitpick_engines.lexical import FIELDS, Terms
from kitpick_engines.remote.sources import CANDIDATE_FIELDS, sources_of
from kitpick_engines.text import TEMPLATE_VERSION
from kitpick_models.encoders import Encoder

Json = dict[str, Any]
Post = Callable[[bytes], Json]
"""Sends a body to `/v1/search`, and returns the answer."""


class Conversation(NamedTuple):
    """The calls of one search: each body without a deadline, and the documents that go with it."""

    bodies: list[bytes]
    documents: list[list[bytes]]


def body_of(body: bytes, milliseconds: int, documents: Sequence[bytes]) -> bytes:
    """A body with its deadline and documents."""
    return b'%s, "deadline_ms": %d, "documents": [%s]}' % (body[:-1], milliseconds, b",".join(documents))


class MemoryServer:
    """Documents with the fields that the service asks for."""

    def __init__(self, documents: Sequence[ApiDocument], encoder: Encoder) -> None:
        """Embeds all of them."""
        self.vectors = np.asarray(document_vectors(documents, encoder.encode))
        indexed = [IndexedDocument(*each) for each in zip(documents, self.vectors, strict=True)]
        self.sources = sources_of(indexed, Terms(), 1)
        schema = IndexSchema(encoder.identity, encoder.dimensions, TEMPLATE_VERSION)
        self.index = f"tools-apis-{schema.fingerprint}-1"

    def record(self, text: str, post: Post) -> Conversation:
        """All calls of a search, each document in full the first time."""
        call: Json = {"query": text, "index": self.index, "committed": {"match_all": {}}, "protocol": 2}
        conversation = Conversation([], [])
        found: list[list[Json]] = []
        contents: dict[bytes, int] = {}
        while True:
            conversation.bodies.append(json.dumps({**call, "found": found}).encode())
            conversation.documents.append(list(contents))
            answer = post(body_of(conversation.bodies[-1], 60_000, list(contents)))
            if answer["ranking"] is not None:
                return conversation
            found = [*found, [self._answer(each, contents) for each in answer["searches"]]]

    def _answer(self, search: Json, contents: dict[bytes, int]) -> Json:
        if "aggs" in search:
            return self._counted(search["aggs"])
        ranked = self._ranked(search)[: search["size"]]
        hits = [self._hit(self.sources[place], search["_source"], contents) for place in ranked]
        return {"timed_out": False, "hits": {"hits": hits}}

    def _hit(self, source: Json, fields: Sequence[str], contents: dict[bytes, int]) -> Json:
        content = {name: source[name] for name in CANDIDATE_FIELDS if name in source}
        encoded = json.dumps(content, separators=(",", ":")).encode()
        own: Json = {}
        if "lengths" in fields:
            terms = [name.removeprefix("counts.") for name in fields if name.startswith("counts.")]
            counts = {term: source["counts"][term] for term in terms if term in source["counts"]}
            own = {"_source": {"lengths": source["lengths"], "counts": counts}}
        return {"document": contents.setdefault(encoded, len(contents)), **own}

    def _ranked(self, search: Json) -> list[int]:
        query = search["query"]
        if "knn" in query:
            wanted = np.array(query["knn"]["vector"]["vector"], np.float32)
            return [int(place) for place in np.argsort(-(self.vectors @ wanted), kind="stable")]
        if "must" in query.get("bool", {}):
            terms = {each["term"]["words"] for each in query["bool"]["must"][0]["bool"]["should"]}
            overlaps = [len(terms & source["counts"].keys()) for source in self.sources]
            return sorted((n for n, each in enumerate(overlaps) if each), key=lambda n: -overlaps[n])
        return []  # tools and names that are asked for beside the rankings: nothing more is found

    def _counted(self, aggregations: Json) -> Json:
        wanted = aggregations.get("holders", {}).get("filters", {}).get("filters", {})
        buckets = {
            number: {"doc_count": sum(each["term"]["words"] in source["counts"] for source in self.sources)}
            for number, each in wanted.items()
        }
        sums = {name: {"value": sum(s["lengths"][name] for s in self.sources)} for name in FIELDS}
        total = {"hits": {"hits": [], "total": {"value": len(self.sources)}}}
        return {"timed_out": False, **total, "aggregations": {**sums, "holders": {"buckets": buckets}}}


def hash_of(content: bytes) -> str:
    """As callers of protocol 2 compute it."""
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()[:15]).decode()


def posting(url: str) -> Post:
    """Sends bodies to the service at this address, one after the other."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=120)

    def post(body: bytes) -> Json:
        connection.request("POST", "/v1/search", body, {"Content-Type": "application/json"})
        response = connection.getresponse()
        answer: Json = json.loads(response.read())
        assert response.status == 200, answer
        return answer

    return post
