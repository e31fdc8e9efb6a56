"""A `kitpick` query: text in, the ranking of `Catalog.search` out, with nothing but an HTTP request."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest
from double import Double, forwarding
from real_service import Service
from searching import Search

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter, IndexedDocument
from kitpick_engines.document import ApiDocument, Effect
from kitpick_engines.text import retrieval_text
from kitpick_ingest.embedder import schema_of

pytestmark = [pytest.mark.needs("opensearch", "serve", "onnxruntime", "weights"), pytest.mark.slow]

VERBS = (
    "list", "find", "create", "delete", "update", "copy", "share", "export", "import", "rename",
    "archive", "restore", "compare", "translate", "watch",
)  # fmt: skip
NOUNS = (
    "file", "folder", "photo", "song", "playlist", "invoice", "customer", "order", "flight", "hotel room",
    "weather report", "calendar event", "email message", "contact", "street map", "currency rate",
    "stock quote", "news article", "recipe", "ticket", "project", "task", "database table", "virtual machine", "video",
    "podcast", "football match", "language course", "book", "museum", "train", "car", "bank account",
    "payment", "parcel", "web page", "survey", "job offer", "dictionary word", "chat room",
)  # fmt: skip
EVERYBODY = Filter()
REQUESTS = (
    "make a copy of a file",
    "What will the weather be like in Lisbon tomorrow?",
    "I want to send an invoice to a customer. Then watch whether the payment arrives.",
    "find me a hotel room and a flight",
    "translate a recipe",
    "Please delete all archived email messages! Afterwards export my contacts, and rename the folder.",
    "which stock is worth buying",
    "share the playlist with a friend",
    "getPlaylistById",
    "übersetze ein Buch",
    "写真を共有する",
    "restore the database table after a crash; compare it with the copy",
)


def catalog_documents() -> Iterator[ApiDocument]:
    """One API for every verb and noun; some are of a tenant, or for certain people alone."""
    for place, noun in enumerate(NOUNS):
        for number, verb in enumerate(VERBS):
            name = f"{verb}_{noun.replace(' ', '_')}"
            yield ApiDocument(
                id=f"made/{noun}/{name}", source="made", category=f"category{place % 7}", tool=noun, api=name,
                description=f"{verb.title()} a {noun}, or several of them, for somebody who asks for it.",
                effect=Effect.READ if verb in ("list", "find", "compare", "watch") else Effect.WRITE,
                tenant="acme" if (place + number) % 11 == 0 else "",
                allowed=("ann",) if (place + number) % 13 == 0 else (),
            )  # fmt: skip


@pytest.fixture(scope="module")
def catalog(search: Search) -> Iterator[Catalog]:
    """Six hundred APIs with vectors of the shipped encoder, in two sessions: half of them were replaced."""
    url = search.url.replace("http:", "opensearch:") + "/own-query"
    with Catalog.open(url, settings=Settings()) as opened:
        documents = list(catalog_documents())
        vectors = opened.models.encoder.encode([retrieval_text(each) for each in documents])
        items = [IndexedDocument(*each) for each in zip(documents, vectors, strict=True)]
        index = opened.engine.ensure(schema_of(opened.models.encoder))
        with opened.engine.writing(index) as writer:
            writer.write(items)
        with opened.engine.writing(index) as writer:
            writer.write(items[::2])
            writer.delete(["made/chat room/watch_chat_room"])
        yield opened


@pytest.fixture
def served(double: Double, service: Service) -> Iterator[Double]:
    with double.behaving(forwarding(*service, path="/v1/search")):
        yield double


def asked(search: Search, text: str, body: dict[str, Any] | None = None, **more: Any) -> Any:
    whole = {"query": {"kitpick": {"text": text, **more}}, "_source": ["id"], **(body or {})}
    return search.call("POST", "/own-query/_search", whole)


def apis(answer: Any) -> list[str]:
    return [hit["_source"]["id"] for hit in answer["hits"]["hits"]]


def python_ids(catalog: Catalog, text: str, k: int = 10, wanted: Filter = EVERYBODY) -> list[str]:
    return [hit.document.id for hit in catalog.search(text, k, filter=wanted).hits]


def generated_requests(count: int) -> list[str]:
    """Requests of one to four sentences, the same each time."""
    rng = Random(21)
    parts = [f"I would like to {rng.choice(VERBS)} the {rng.choice(NOUNS)} of last week" for _ in range(60)]
    return [". ".join(rng.sample(parts, rng.randint(1, 4))) for _ in range(count)]


def test_the_top_ten_is_that_of_python(search: Search, catalog: Catalog, served: Double) -> None:
    different = {
        text: (ours, theirs)
        for text in (*REQUESTS, *generated_requests(18))
        if (ours := apis(asked(search, text))) != (theirs := python_ids(catalog, text)) or len(theirs) != 10
    }
    assert not different


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ({"tenant": "acme"}, Filter(tenant="acme")),
        ({"principals": ["ann", "bob"]}, Filter(principals=frozenset({"ann", "bob"}))),
        ({"filter": {"terms": {"category": ["category1", "category4"]}}},
         Filter(categories=frozenset({"category1", "category4"}))),
        ({"filter": [{"term": {"effect": "read"}}, {"bool": {"filter": {"term": {"category": "category0"}}}}],
          "tenant": "acme", "principals": ["ann"]},
         Filter(tenant="acme", principals=frozenset({"ann"}), effects=frozenset({Effect.READ}),
                categories=frozenset({"category0"}))),
    ],
    ids=["tenant", "principals", "one query", "a list beside who asks"],
)  # fmt: skip
def test_filters_act_inside_the_first_stage(
    search: Search, catalog: Catalog, served: Double, query: dict[str, Any], wanted: Filter
) -> None:
    for text in REQUESTS[:4]:
        assert apis(asked(search, text, **query)) == python_ids(catalog, text, wanted=wanted), text


def test_a_filter_that_leaves_nothing_finds_nothing(search: Search, catalog: Catalog, served: Double) -> None:
    answer = asked(search, REQUESTS[0], filter={"term": {"category": "nowhere"}})
    assert answer["hits"]["total"]["value"] == 0
    assert apis(answer) == []
