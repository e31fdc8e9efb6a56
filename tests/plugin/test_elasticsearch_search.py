"""Elasticsearch without a plugin: a client asks the rescorer for the searches, and gets Python's answer."""

from __future__ import annotations

import json
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from real_service import Service

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter, IndexedDocument
from kitpick_engines.document import ApiDocument
from kitpick_engines.document_vectors import document_vectors
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_ingest.embedder import schema_of

pytestmark = [pytest.mark.needs("elasticsearch", "serve", "onnxruntime", "weights"), pytest.mark.slow]

TOOLS = {
    "weather": ("forecast", "Weather forecast of a city for the coming days"),
    "files": ("copy", "Makes a copy of a file in another folder"),
    "invoices": ("send", "Sends an invoice to a customer by email"),
    "payments": ("watch", "Tells when the payment of an invoice arrives"),
    "hotels": ("rooms", "Finds free hotel rooms in a city"),
    "music": ("playlist", "Songs of a playlist, in their order"),
}
REQUESTS = (
    "What will the weather be like in Lisbon?",
    "I want to send an invoice to a customer. Then tell me whether the payment arrives.",
)


@pytest.fixture(scope="module")
def catalog(elasticsearch_url: str) -> Iterator[Catalog]:
    """A few APIs, one of a tenant."""
    url = f"elasticsearch://{elasticsearch_url.partition('://')[2]}/led-{uuid.uuid4().hex[:8]}?replicas=0"
    with Catalog.open(url, settings=Settings()) as opened:
        documents = [
            ApiDocument(
                id=f"made/{tool}/{api}", source="made", category="any", tool=tool, api=api, description=says,
                tenant="acme" if tool == "music" else "",
            )
            for tool, (api, says) in TOOLS.items()
        ]  # fmt: skip
        vectors = document_vectors(documents, opened.models.encoder.encode)
        index = opened.engine.ensure(schema_of(opened.models.encoder))
        with opened.engine.writing(index) as writer:
            writer.write([IndexedDocument(*each) for each in zip(documents, vectors, strict=True)])
        yield opened
        assert isinstance(opened.engine, RemoteEngine)
        name = opened.engine.address.name
        opened.engine.server.call("DELETE", f"/{index},{name}-state")


def posted(url: str, body: object, key: str = "") -> Any:
    """What a client without kitpick does."""
    lines = isinstance(body, list)
    data = "".join(json.dumps(each) + "\n" for each in body) if lines else json.dumps(body)  # type: ignore[union-attr]
    headers = {"Content-Type": "application/x-ndjson" if lines else "application/json"}
    request = urllib.request.Request(url, data.encode(), headers | {"Authorization": f"Bearer {key}"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.loads(answer.read())


def led(server: str, name: str, service: Service, text: str, **more: object) -> list[str]:
    with urllib.request.urlopen(f"{server}/_alias/{name}", timeout=120) as answer:
        ((index, described),) = json.loads(answer.read()).items()
    committed = described["aliases"][name]["filter"]
    call = {"query": text, "index": index, "committed": committed, "engine": "elasticsearch", **more}
    found: list[Any] = []
    while True:
        answer = posted(f"{service.url}/v1/search", {**call, "found": found}, service.key)
        if answer["ranking"]:
            assert answer["ranking"]["degraded"] == []
            return [each["id"] for each in answer["ranking"]["results"]]
        lines = [line for body in answer["searches"] for line in ({}, body)]
        found.append(posted(f"{server}/{name}/_msearch", lines)["responses"])


@pytest.mark.parametrize("tenant", ["", "acme"])
@pytest.mark.parametrize("text", REQUESTS)
def test_the_answer_is_python_s(
    catalog: Catalog, service: Service, elasticsearch_url: str, text: str, tenant: str
) -> None:
    assert isinstance(catalog.engine, RemoteEngine)
    ours = led(elasticsearch_url, catalog.engine.address.name, service, text, tenant=tenant)
    theirs = catalog.search(text, 10, filter=Filter(tenant=tenant))
    assert ours == [hit.document.id for hit in theirs.hits]
    assert len(ours) == len(TOOLS) - (not tenant)
