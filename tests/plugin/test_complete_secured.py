"""A profile with `complete` beside the security plugin: what a user may not see is drawn in nowhere.

Roles restrict the documents; three APIs give the id of an artist, and each user may see one of them or none.
The node has no k-NN: the profiles rank by words alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import numpy as np
import pytest
from double import Double, forgetting, forwarding
from real_service import Service
from searching import Client, report
from secured import PlainDialect, Secured
from secured_node import ADMIN, PASSWORD

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter, IndexedDocument, IndexSchema
from kitpick_engines.document import ApiDocument, Effect
from kitpick_engines.opensearch import OpenSearchCarrier
from kitpick_engines.remote.address import Address, Credentials
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_engines.remote.server import SearchServer
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.stages import Complete

pytestmark = [pytest.mark.needs("jdk", "opensearch", "serve", "onnxruntime", "weights"), pytest.mark.slow]

TAKER = "tour_dates"
GIVERS = {
    "search_artists": ("acme", ()),
    "find_artists": ("globex", ("carol",)),
    "lookup_artists": ("", ("bob",)),
}
"""Who may see each: a tenant, and people."""
REQUEST = "concerts"
PROFILE = load_profile("bm25").then(Complete())
PEOPLE = pytest.mark.parametrize(
    ("person", "tenant", "giver"),
    [
        ("alice", "acme", ["search_artists"]),
        ("carol", "globex", ["find_artists"]),
        ("bob", "globex", ["lookup_artists"]),
        ("alice", "globex", []),
    ],
)


@contextmanager
def engine(secured: Secured, user: str) -> Iterator[RemoteEngine]:
    """The catalog `shop` as somebody sees it who logs in under this name."""
    host = secured.url.removeprefix("http://")
    address = Address("opensearch", (host,), tls=False, name="shop", credentials=Credentials(user, PASSWORD))
    server = SearchServer(OpenSearchCarrier(address), address.url, 30.0, 30.0)
    with closing(RemoteEngine(address, server, PlainDialect("hnsw", "lucene"))) as opened:
        yield opened


def documents() -> Iterator[ApiDocument]:
    needs = ("artist_id=artist.id~9",)
    yield ApiDocument(
        f"s/music/{TAKER}", "s", "Music", "music", TAKER, "concerts", effect=Effect.READ, needs=needs
    )
    for name, (tenant, allowed) in GIVERS.items():
        yield ApiDocument(
            f"s/music/{name}", "s", "Music", "music", name, "names", effect=Effect.READ,
            tenant=tenant, allowed=allowed, gives=("artist.id~9",),
        )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def shop(secured: Secured) -> None:
    with engine(secured, ADMIN) as opened:
        index = opened.ensure(IndexSchema("m", 2, 1))
        with opened.writing(index) as writer:
            writer.write([IndexedDocument(each, np.ones(2, np.float32)) for each in documents()])
    fields = ["text", "category", "tool", "api", "tool_key", "effect", "needs", "gives"]
    window = {"kitpick_window": {"window": 50, "fields": fields}}
    secured.admin.put(
        "/_search/pipeline/shop", {"request_processors": [window], "response_processors": [{"kitpick": {}}]}
    )


def forbidden(giver: list[str]) -> list[str]:
    return [name for name in GIVERS if name not in giver]


@PEOPLE
@pytest.mark.parametrize("claims", ["what is true", "to be anybody"])
def test_python_with_the_users_password_draws_in_and_plans_what_they_may_see(
    secured: Secured, person: str, tenant: str, giver: list[str], claims: str
) -> None:
    """A filter is what the caller says; the role decides all the same."""
    principals = {person} if claims == "what is true" else {"alice", "bob", "carol"}
    with engine(secured, f"{person}-of-{tenant}-shop") as opened:
        catalog = Catalog(opened, Settings())
        wanted = Filter(tenant=tenant, principals=frozenset(principals))
        result = catalog.search(REQUEST, 5, filter=wanted, profile=PROFILE)
        after = [catalog.after(f"s/music/{name}", filter=wanted) for name in forbidden(giver)]
    assert [hit.document.api for hit in result.hits] == [TAKER, *giver]
    assert [step.api for step in result.plan] == [*giver, TAKER]
    assert [taken.giver for step in result.plan for taken in step.takes] == [
        f"s/music/{name}" for name in giver
    ]
    assert not [name for name in forbidden(giver) if name in repr((result, result.plan))]
    assert not any(after)


def test_who_may_see_more_gets_more(secured: Secured) -> None:
    """The counterpart: it is not the filter that hides producers above."""
    wanted = Filter(tenant="globex", principals=frozenset({"carol"}))
    with engine(secured, ADMIN) as opened:
        result = Catalog(opened, Settings()).search(REQUEST, 5, filter=wanted, profile=PROFILE)
    assert [hit.document.api for hit in result.hits] == [TAKER, "find_artists"]


def asked(user: Client, profile: Profile | dict[str, Any], query: dict[str, Any], more: str = "") -> Any:
    section = {"query": REQUEST, "profile": profile} if more else {"profile": profile}
    body = {"query": query, "size": 10, "_source": ["api"], "ext": {"kitpick": section}}
    return user.call("POST", f"/shop/_search{more}", body)


def names(answer: Any) -> list[str]:
    return [hit["_source"]["api"] for hit in answer["hits"]["hits"]]


@PEOPLE
def test_a_pipeline_draws_in_what_the_user_may_see(
    secured: Secured, double: Double, service: Service, person: str, tenant: str, giver: list[str]
) -> None:
    profile = {"name": "complete", "stages": [{"stage": "complete"}]}
    user = secured.named(f"{person}-of-{tenant}-shop")
    with double.behaving(forwarding(*service)):
        answer = asked(user, profile, {"match": {"description": REQUEST}}, "?search_pipeline=shop")
        sent = json.dumps(double.calls)
    assert names(answer) == [TAKER, *giver]
    assert report(answer)["status"] == "rescored"
    assert not [name for name in forbidden(giver) if name in sent + json.dumps(answer)]


@PEOPLE
def test_a_query_of_its_own_draws_in_what_the_user_may_see(
    secured: Secured, double: Double, service: Service, person: str, tenant: str, giver: list[str]
) -> None:
    profile = {
        "name": "complete",
        "stages": [{"stage": "fuse", "dense": 0.0, "intent": 0.0}, {"stage": "complete"}],
    }
    user = secured.named(f"{person}-of-{tenant}-shop")
    claimed = {"text": REQUEST, "tenant": tenant, "principals": ["alice", "bob", "carol"]}
    with double.behaving(forgetting(forwarding(*service, path="/v1/search"))):
        answer = asked(user, profile, {"kitpick": claimed})
        sent = json.dumps(double.calls)
    assert names(answer) == [TAKER, *giver]
    assert report(answer)["status"] == "rescored"
    assert not [name for name in forbidden(giver) if name in sent + json.dumps(answer)]
