"""A `kitpick` query: text in, the ranking of `Catalog.search` out, with nothing but an HTTP request."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from asyncio import StreamWriter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from double import Behaviour, Call, Double, answering, forgetting, forwarding, silent, status
from real_service import Service, serving
from searching import Client, Refused, Search, report

from kitpick.catalog import Catalog
from kitpick.settings import Settings
from kitpick_engines.contract import Filter, IndexedDocument
from kitpick_engines.document import ApiDocument, Effect
from kitpick_engines.document_vectors import document_vectors
from kitpick_ingest.embedder import schema_of
from kitpick_rescorers.intents.store import Intent
from kitpick_rescorers.profiles import Profile

pytestmark = [pytest.mark.needs("opensearch", "serve", "onnxruntime", "weights"), pytest.mark.slow]

VERBS = (
    "list", "find", "create", "delete", "update", "copy", "share", "export", "import", "rename",
    "archive", "restore", "compare", "translate", "watch",
)  # fmt: skip
NOUNS = (
    "file", "folder", "photo", "song", "playlist", "invoice", "customer", "order", "flight", "hotel room",
    "weather report", "calendar event", "email message", "contact", "street map", "currency rate",
    "stock quote", "news article", "recipe", "ticket", "project", "database table", "virtual machine",
    "podcast", "football match", "book", "bank account", "payment", "web page", "chat room",
)  # fmt: skip
EVERYBODY = Filter()
ROOT = Path(__file__).resolve().parents[2]
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
    """450 APIs with vectors of the shipped encoder, in two sessions: half of them were replaced."""
    url = search.url.replace("http:", "opensearch:") + "/own-query?timeout=600&patience=600"  # any machine
    with Catalog.open(url, settings=Settings()) as opened:
        documents = list(catalog_documents())
        vectors = document_vectors(documents, opened.models.encoder.encode)
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


def scores(hits: list[Any]) -> list[tuple[str, float]]:
    return [(hit["_source"]["id"], hit["_score"]) for hit in hits]


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


def test_what_the_ranking_needs_is_fetched_as_in_python(
    search: Search, catalog: Catalog, served: Double
) -> None:
    """Concentrating on a tool asks for all of its APIs: another round of searches."""
    stages = [{"stage": "fuse"}, {"stage": "cross_encode"}, {"stage": "concentrate", "threshold": 0.01}]
    needing = {"name": "needing", "first_stage": {"size": 3, "factor": 1}, "stages": stages}
    text = "please copy one of the files"
    answer = asked(search, text, {"size": 10, "ext": {"kitpick": {"profile": needing}}})
    theirs = catalog.search(text, 10, profile=msgspec.convert(needing, Profile))
    assert apis(answer) == [hit.document.id for hit in theirs.hits]
    assert len(served.calls[-1]["found"]) == 2


SLANG = "ping the gang about tonight"


@pytest.fixture(scope="module")
def samples(catalog: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Catalog:
    """The catalog with sample requests; every third API has one, in words that its description lacks."""
    path = tmp_path_factory.mktemp("samples") / "intents.db"
    with_votes = Catalog(catalog.engine, Settings(intents=path), catalog.models)
    usual = [
        Intent(f"{each.api.partition('_')[0]} my stuff about {each.tool}s", each.id)
        for each in [*catalog_documents()][::3]
    ]
    with_votes.add_intents([*usual, Intent(SLANG, "made/email message/share_email_message")])
    return with_votes


@pytest.fixture(scope="module")
def voting(samples: Catalog, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    given = ("--set", f"intents={samples.settings.intents}")
    with serving(tmp_path_factory.mktemp("voting"), *given) as running:
        yield running


class TestSampleRequests:
    """They vote in the service as in Python: both read the same file."""

    def test_they_vote_as_in_python(
        self, search: Search, catalog: Catalog, samples: Catalog, voting: Service, double: Double
    ) -> None:
        requests = (*REQUESTS[:5], SLANG, "share my stuff about photos")
        with double.behaving(forwarding(*voting, path="/v1/search")):
            answers = {text: asked(search, text) for text in requests}
        assert {text: apis(answer) for text, answer in answers.items()} == {
            text: python_ids(samples, text) for text in requests
        }
        assert not [answer for answer in answers.values() if "degraded" in report(answer)]
        unlike = [text for text in requests if apis(answers[text]) != python_ids(catalog, text)]
        assert unlike, "they change something"

    def test_a_sample_of_what_one_may_not_see_does_not_vote(
        self, search: Search, samples: Catalog, voting: Service, double: Double
    ) -> None:
        wanted = Filter(tenant="acme", principals=frozenset({"ann"}))
        with double.behaving(forwarding(*voting, path="/v1/search")):
            for text in REQUESTS[:2]:
                assert apis(asked(search, text, tenant="acme", principals=["ann"])) == python_ids(
                    samples, text, wanted=wanted
                )

    def test_a_damaged_file_takes_the_votes_and_nothing_else(
        self, search: Search, catalog: Catalog, double: Double, tmp_path: Path
    ) -> None:
        (tmp_path / "intents.db").write_bytes(b"no database at all")
        given = ("--set", f"intents={tmp_path / 'intents.db'}")
        with serving(tmp_path, *given) as broken, double.behaving(forwarding(*broken, path="/v1/search")):
            answer = asked(search, REQUESTS[0])
        assert apis(answer) == python_ids(catalog, REQUESTS[0])
        (lost,) = report(answer)["degraded"]
        assert lost["stage"] == "intent"
        assert "not a database" in lost["reason"]


def test_the_line_of_the_docs_works(search: Search, catalog: Catalog, served: Double) -> None:
    page = (ROOT / "docs" / "engines.md").read_text("utf-8")
    (body,) = re.findall(r"/tools/_search -H .*? -d '(.*?)'", page, re.DOTALL)
    answer = search.call("POST", "/own-query/_search", json.loads(body))
    writing = frozenset({Effect.WRITE})
    assert apis(answer) == python_ids(catalog, "make a copy of a file", wanted=Filter(effects=writing))


def test_the_search_of_the_plugins_page_reranks_a_catalog(
    search: Search, catalog: Catalog, double: Double, service: Service
) -> None:
    step = (ROOT / "plugin/templates/opensearch-plugin/01-pipeline.json").read_text("utf-8")
    step = step.replace("{{pipeline}}", "own-query").replace(
        "{{vector_model}}", catalog.models.encoder.identity
    )
    made = json.loads(step)
    search.call(made["method"], made["path"], made["body"])
    page = (ROOT / "docs" / "plugin.md").read_text("utf-8")
    (body,) = re.findall(r"^POST /tools/_search\?search_pipeline=tools\n(.*?)^```$", page, re.DOTALL | re.M)
    with double.behaving(forwarding(*service)):
        answer = search.call("POST", "/own-query/_search?search_pipeline=own-query", json.loads(body))
    assert report(answer)["status"] == "rescored"
    assert "degraded" not in report(answer)
    assert [hit["_source"]["tool"] for hit in answer["hits"]["hits"]] == ["weather report"] * 5


class TestTheStoredSearch:
    """For people who type no JSON: `kitpick setup --with opensearch-plugin` stores it."""

    @pytest.fixture(autouse=True)
    def stored(self, search: Search) -> None:
        text = (ROOT / "plugin/templates/opensearch-plugin/02-search.json").read_text("utf-8")
        step = json.loads(text.replace("{{index}}", "own-query"))
        search.call(step["method"], step["path"], step["body"])

    def found(self, search: Search, **values: Any) -> list[str]:
        body = {"id": "own-query-search", "params": values}
        return apis(search.call("POST", "/own-query/_search/template", body))

    @pytest.mark.parametrize(
        "text", [*REQUESTS[:3], 'the "best" song\n\\ {{ text }} }}', "übersetze ein Buch"]
    )
    def test_a_text_is_all_it_takes(
        self, search: Search, catalog: Catalog, served: Double, text: str
    ) -> None:
        assert self.found(search, text=text) == python_ids(catalog, text)

    def test_pages_and_tenants(self, search: Search, catalog: Catalog, served: Double) -> None:
        whole = self.found(search, text=REQUESTS[3], size=8)
        pages = [self.found(search, text=REQUESTS[3], size=4, **{"from": start}) for start in (0, 4)]
        assert [each for page in pages for each in page] == whole
        assert len(whole) == 8
        theirs = python_ids(catalog, REQUESTS[3], wanted=Filter(tenant="acme"))
        assert self.found(search, text=REQUESTS[3], tenant="acme") == theirs


class TestWhatElseASearchSays:
    def test_it_is_explained_and_profiled_as_any_search(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        plain = asked(search, REQUESTS[0], {"size": 3})
        body = {"size": 3, "explain": True, "profile": True, "highlight": {"fields": {"description": {}}}}
        answer = asked(search, REQUESTS[0], body)
        assert apis(answer) == apis(plain)
        for hit in answer["hits"]["hits"]:
            assert hit["_explanation"]["value"] == pytest.approx(hit["_score"])
        assert answer["profile"]["shards"]

    def test_another_alias_of_the_index_is_no_catalog(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        """Its filter would have to hold inside both rankings; `filter` of the query does that."""
        (index,) = search.call("GET", "/_alias/own-query")
        search.put(f"/{index}/_alias/own-query-read", {"filter": {"term": {"effect": "read"}}})
        try:
            with pytest.raises(Refused) as refused:
                search.call("POST", "/own-query-read/_search", {"query": {"kitpick": {"text": "a"}}})
            assert refused.value.status == 400
        finally:
            search.call("DELETE", f"/{index}/_alias/own-query-read")

    def test_pages_fit_together(self, search: Search, catalog: Catalog, served: Double) -> None:
        whole = apis(asked(search, REQUESTS[0], {"size": 12}))
        pages = [apis(asked(search, REQUESTS[0], {"size": 4, "from": start})) for start in (0, 4, 8)]
        assert [each for page in pages for each in page] == whole

    def test_aggregations_count_the_candidates(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        body = {"size": 0, "aggs": {"effects": {"terms": {"field": "effect"}}}}
        answer = asked(search, REQUESTS[0], body)
        counted = {each["key"]: each["doc_count"] for each in answer["aggregations"]["effects"]["buckets"]}
        assert answer["hits"]["hits"] == []
        assert sum(counted.values()) == answer["hits"]["total"]["value"] >= 64
        assert set(counted) == {"read", "write"}

    def test_scores_fall_and_the_ext_explains_them(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        answer = asked(search, REQUESTS[0], {"size": 3})
        said = report(answer)
        assert [hit["_score"] for hit in answer["hits"]["hits"]] == pytest.approx([1, 1 / 2, 1 / 3])
        assert (said["status"], said["profile"]) == ("rescored", "kitpick")
        assert "degraded" not in said
        assert [each["api"] for each in said["hits"]] == apis(answer)
        assert all(each["reasons"] for each in said["hits"])

    def test_the_profile_of_the_request_counts(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        body = {"ext": {"kitpick": {"profile": "bm25", "explain": False}}}
        answer = asked(search, REQUESTS[0], body)
        theirs = catalog.search(REQUESTS[0], 10, profile="bm25")
        assert apis(answer) == [hit.document.id for hit in theirs.hits]
        assert "hits" not in report(answer)

    def test_several_searches_in_one_request(self, search: Search, catalog: Catalog, served: Double) -> None:
        lines: list[dict[str, Any]] = []
        for text in REQUESTS[:2]:
            lines += [{"index": "own-query"}, {"query": {"kitpick": {"text": text}}, "_source": ["id"]}]
        answers = search.call("POST", "/_msearch", lines)["responses"]
        assert [apis(each) for each in answers] == [python_ids(catalog, text) for text in REQUESTS[:2]]


HIGHLIGHT = {"fields": {"*": {}}}


class TestPartsOfASearch:
    """What a search body may say beside the query is kept, or told."""

    @pytest.mark.parametrize("ranked", [True, False], ids=["ranked", "by words alone"])
    def test_highlights_mark_the_words_of_the_request(
        self, search: Search, catalog: Catalog, double: Double, service: Service, ranked: bool
    ) -> None:
        behaviour = forwarding(*service, path="/v1/search") if ranked else status(500)
        with double.behaving(behaviour):
            answer = asked(search, "make a copy of a file", {"size": 1, "highlight": HIGHLIGHT})
        marked = answer["hits"]["hits"][0]["highlight"]
        assert marked["description"][0].startswith("<em>Copy</em> a <em>file</em>, or")
        assert set(marked) == {"description", "api.text", "tool.text"}

    def test_a_highlight_query_of_the_users_own_counts(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        own = {**HIGHLIGHT, "highlight_query": {"match": {"description": "several"}}}
        answer = asked(search, REQUESTS[0], {"size": 1, "highlight": own})
        assert list(answer["hits"]["hits"][0]["highlight"]) == ["description"]
        assert "<em>several</em>" in answer["hits"]["hits"][0]["highlight"]["description"][0]

    def test_pages_show_every_hit_once_however_deep_they_are(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        """450 APIs: the first stage of the first pages proposes fewer than that of the last one."""
        whole = apis(asked(search, REQUESTS[0], {"size": 440}))
        paged = [
            each
            for start in range(0, 440, 110)
            for each in apis(asked(search, REQUESTS[0], {"from": start, "size": 110}))
        ]
        assert paged == whole
        assert len(set(whole)) == len(whole) > 300
        assert apis(asked(search, REQUESTS[0], {"from": 20, "size": 10})) == whole[20:30]

    def test_a_size_beyond_the_cap_is_told(self, search: Search, catalog: Catalog, served: Double) -> None:
        search.put("/_cluster/settings", {"transient": {"kitpick.max_window": 60}})
        try:
            large = asked(search, REQUESTS[0], {"size": 70})
            small = asked(search, REQUESTS[0], {"size": 60})
        finally:
            search.put("/_cluster/settings", {"transient": {"kitpick.max_window": None}})
        assert len(apis(large)) == len(apis(small)) == 60
        assert report(large)["degraded"] == [{"stage": "window", "reason": "kitpick.max_window is 60"}]
        assert "degraded" not in report(small)

    def test_a_timeout_bounds_the_ranking(self, search: Search, catalog: Catalog, double: Double) -> None:
        with double.behaving(silent):
            answer = asked(search, "a file", {"timeout": "200ms"})
        assert report(answer)["reason"] == "timeout"
        assert 200 <= report(answer)["took_ms"] < 20_000

    def test_took_is_the_whole_time(self, search: Search, catalog: Catalog, served: Double) -> None:
        answer = asked(search, REQUESTS[0])
        assert abs(answer["took"] - report(answer)["took_ms"]) < 1


class TestExplain:
    """`GET _plugins/_kitpick/explain`: one request, stage by stage."""

    def test_it_shows_the_stages_that_python_runs(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        asks = urlencode({"index": "own-query", "text": REQUESTS[0], "size": 3, "tenant": "acme"})
        answer = search.call("GET", f"/_plugins/_kitpick/explain?{asks}")
        wanted = Filter(tenant="acme")
        assert apis(answer) == python_ids(catalog, REQUESTS[0], 3, wanted)
        trace = report(answer)["trace"]
        theirs = catalog.search(REQUESTS[0], 3, filter=wanted).trace
        assert [each["stage"] for each in trace] == [each.stage for each in theirs]
        assert all(len(each["hits"]) == 20 for each in trace)
        assert [hit["id"] for hit in trace[0]["hits"]] == [*theirs[0].order[:20]]
        assert any("reason" in hit for each in trace for hit in each["hits"])

    @pytest.mark.parametrize(
        ("asks", "says"),
        [("text=a", "needs [index]"), ("index=own-query", "needs [index]"),
         ("index=apis&text=a", "one catalog of kitpick"), ("index=own-query&text=a&k=3", "unrecognized")],
    )  # fmt: skip
    def test_what_is_missing_or_unknown_is_refused(
        self, search: Search, catalog: Catalog, asks: str, says: str
    ) -> None:
        with pytest.raises(Refused, match=re.escape(says)) as refused:
            search.call("GET", f"/_plugins/_kitpick/explain?{asks}")
        assert refused.value.status == 400

    def test_a_search_has_no_trace_unless_it_asks_for_one(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        assert "trace" not in report(asked(search, REQUESTS[0]))


REFUSED: list[tuple[Any, str]] = [
    ({"text": ""}, "needs a [text]"),
    ({"text": "  \n"}, "needs a [text]"),
    ({}, "needs a [text]"),
    ({"text": 3}, "[text] is a string"),
    ({"text": ["a"]}, "[text] is a string"),
    ({"text": "a", "filter": "b"}, "[filter] is a query"),
    ({"text": "a", "filter": {"no_such": {}}}, "no_such"),
    ({"text": "a", "principals": "ann"}, "[principals] is a list"),
    ({"text": "a", "principals": [1]}, "[principals] is a string"),
    ({"text": "a", "tenant": 1}, "[tenant] is a string"),
    ({"text": "a", "boost": 0}, "[boost] is the score of the first hit"),
    ({"text": "a", "txet": "b"}, "knows no [txet]"),
]


SELECTING = [
    ("/own-query/_count", "counts nothing"),
    ("/own-query/_update_by_query", "selects no documents"),
    ("/own-query/_delete_by_query", "selects no documents"),
    ("/_reindex", "selects no documents"),
]
"""Requests that do something with all that a query finds."""


def test_a_hit_that_another_scored_is_given_no_rank_of_ours(
    search: Search, catalog: Catalog, served: Double
) -> None:
    """`rescore` changes scores, and the scores tell ranks."""
    share = {"query": {"rescore_query": {"match": {"description": "share"}}, "rescore_query_weight": 9}}
    answer = asked(search, REQUESTS[0], {"rescore": {"window_size": 20, **share}})
    hits = [hit["_id"] for hit in answer["hits"]["hits"]]
    assert apis(answer)[0] == "made/file/share_file"
    assert report(answer)["status"] == "rescored"
    assert [set(each) for each in report(answer)["hits"]] == [{"index", "id"}] * len(hits)
    assert [each["id"] for each in report(answer)["hits"]] == hits


class TestWhatIsRefused:
    @pytest.mark.parametrize(("query", "says"), REFUSED)
    def test_what_is_no_query(self, search: Search, catalog: Catalog, query: Any, says: str) -> None:
        with pytest.raises(Refused) as refused:
            search.call("POST", "/own-query/_search", {"query": {"kitpick": query}})
        assert refused.value.status == 400
        assert says in refused.value.body

    @pytest.mark.parametrize(
        "query",
        [
            {"bool": {"must": [{"kitpick": {"text": "a"}}]}},
            {"constant_score": {"filter": {"kitpick": {"text": "a"}}}},
            {"kitpick": {"text": "a", "filter": {"kitpick": {"text": "b"}}}},
        ],
        ids=["in a bool", "as a filter", "in another"],
    )
    def test_a_query_inside_another(
        self, search: Search, catalog: Catalog, served: Double, query: dict[str, Any]
    ) -> None:
        with pytest.raises(Refused) as refused:
            search.call("POST", "/own-query/_search", {"query": query})
        assert refused.value.status == 400
        assert "the whole query" in refused.value.body

    @pytest.mark.parametrize(
        "index", ["apis", "own-query,apis", "own-*", "_all", "own-query-state", "far:own"]
    )
    def test_an_index_that_is_no_catalog(self, search: Search, catalog: Catalog, index: str) -> None:
        with pytest.raises(Refused) as refused:
            search.call("POST", f"/{index}/_search", {"query": {"kitpick": {"text": "a"}}})
        assert refused.value.status == 400
        assert "one catalog of kitpick by its name" in refused.value.body

    def test_an_alias_that_shows_a_restored_copy_too(self, search: Search, catalog: Catalog) -> None:
        """A restore that renames indexes and not the alias: everything would be found twice."""
        copy = "/twin-apis-0123456789ab-1"
        search.put(copy, {"aliases": {"own-query": {}}})
        try:
            with pytest.raises(Refused) as refused:
                search.call("POST", "/own-query/_search", {"query": {"kitpick": {"text": "a"}}})
        finally:
            search.call("DELETE", copy)
        assert refused.value.status == 400
        assert "several: own-query-apis-" in refused.value.body
        assert "twin-apis-0123456789ab-1. After a restore `kitpick adopt`" in refused.value.body

    @pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside another"])
    @pytest.mark.parametrize(("path", "says"), SELECTING)
    def test_what_counts_copies_or_changes_documents(
        self, search: Search, catalog: Catalog, path: str, says: str, inside: bool
    ) -> None:
        """By a query that finds others where nobody ranks, all that would happen by chance."""
        query: dict[str, Any] = {"kitpick": {"text": "a file"}}
        query = {"bool": {"filter": [query]}} if inside else query
        source = {"index": "own-query", "query": query}
        body = {"source": source, "dest": {"index": "own-copy"}} if "reindex" in path else {"query": query}
        before = search.call("POST", "/own-query/_count")["count"]
        with pytest.raises(Refused) as refused:
            search.call("POST", path, body)
        assert refused.value.status == 400
        assert ("the whole query" if inside else says) in refused.value.body
        search.call("POST", "/own-query/_refresh")
        assert search.call("POST", "/own-query/_count")["count"] == before
        with pytest.raises(Refused, match="404"):
            search.call("GET", "/own-copy")

    @pytest.mark.parametrize(
        ("more", "says"),
        [
            ({"terminate_after": 5}, "knows no [terminate_after]"),
            ({"indices_boost": [{"own-query": 2}]}, "knows no [indices_boost]"),
            ({"ext": {"kitpick": {"query": "another", "window": 20}}}, "has no use for [query, window]"),
            ({"ext": {"kitpick": {"k": 3}}}, "has no use for [k]"),
        ],
    )
    def test_what_it_would_have_to_ignore(
        self, search: Search, catalog: Catalog, more: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(Refused, match=re.escape(says)) as refused:
            asked(search, "a file", more)
        assert refused.value.status == 400

    @pytest.mark.parametrize("inside", [False, True], ids=["alone", "inside another"])
    def test_what_filters_indexes(self, search: Search, catalog: Catalog, inside: bool) -> None:
        """The engine would leave every index out, and say nothing."""
        query: dict[str, Any] = {"kitpick": {"text": "a file"}}
        query = {"bool": {"filter": [{"constant_score": {"filter": query}}]}} if inside else query
        with pytest.raises(Refused, match="filters no indexes") as refused:
            search.call("POST", "/own-query/_field_caps?fields=*", {"index_filter": query})
        assert refused.value.status == 400
        others = {"index_filter": {"match_all": {}}}
        assert search.call("POST", "/own-query/_field_caps?fields=api", others)["fields"]

    def test_an_index_that_is_not_there(self, search: Search) -> None:
        with pytest.raises(Refused) as refused:
            search.call("POST", "/nowhere/_search", {"query": {"kitpick": {"text": "a"}}})
        assert refused.value.status == 404

    def test_a_filter_that_the_index_refuses(self, search: Search, catalog: Catalog, served: Double) -> None:
        """The user's mistake, and no reason to answer without it."""
        with pytest.raises(Refused) as refused:
            asked(search, "a file", filter={"range": {"deprecated": {"gte": "perhaps"}}})
        assert refused.value.status == 400


def test_all_that_it_searches_bears_the_label_of_who_asked(
    search: Search, catalog: Catalog, served: Double, node_log: Path
) -> None:
    """`X-Opaque-Id`, by which slow logs, tasks and Query Insights tell whose a search is."""
    (index,) = search.call("GET", "/_alias/own-query")
    slow = "index.search.slowlog.threshold.query.warn"
    search.put(f"/{index}/_settings", {slow: "0ms"})
    try:
        labelled = Client(search.url, {"X-Opaque-Id": "checkout-page"})
        labelled.call("POST", "/own-query/_search", {"query": {"kitpick": {"text": REQUESTS[0]}}})
    finally:
        search.put(f"/{index}/_settings", {slow: None})
    logged = [line for line in node_log.read_text("utf-8").splitlines() if "i.s.s.query" in line]
    assert len(logged) >= 3, "words, vectors and the ranked documents"
    assert all("id[checkout-page]" in line for line in logged if f"[{index}]" in line)


def test_a_cancelled_search_ends_and_asks_the_service_no_more(
    search: Search, catalog: Catalog, double: Double, service: Service
) -> None:
    """Whoever asked has left, or an operator ended it: `POST _tasks/…/_cancel` does what both do."""
    forward, cancelled = forwarding(*service, path="/v1/search"), threading.Event()

    async def behave(call: Call, writer: StreamWriter) -> None:
        while not cancelled.is_set():
            await asyncio.sleep(0.02)
        await forward(call, writer)

    with double.behaving(behave), ThreadPoolExecutor(1) as others:
        waiting = others.submit(asked, search, REQUESTS[0])
        try:
            search.call("POST", f"/_tasks/{task_of_a_search(search)}/_cancel")
        finally:
            cancelled.set()
        with pytest.raises(Refused, match="cancelled"):
            waiting.result()
        assert len(double.calls) == 1, "the ranking itself was asked of nobody"


def task_of_a_search(search: Search) -> str:
    """The id of the search under way, once there is one."""
    while True:
        nodes = search.call("GET", "/_tasks?actions=indices:data/read/search")["nodes"]
        for task in (name for node in nodes.values() for name in node["tasks"]):
            return str(task)


class TestWithoutTheRescorer:
    def test_words_find_something_and_the_answer_says_so(
        self, search: Search, catalog: Catalog, double: Double
    ) -> None:
        with double.behaving(status(500)):
            answer = asked(search, "make a copy of a file")
        said = report(answer)
        assert (said["status"], said["reason"]) == ("degraded", "service_error")
        assert "words alone" in said["degraded"][0]["reason"]
        assert apis(answer)[0] == "made/file/copy_file"

    @pytest.mark.parametrize(("then", "reason"), [(status(429), "busy"), (status(500), "service_error")])
    def test_a_first_stage_that_was_read_is_fused(
        self, search: Search, catalog: Catalog, double: Double, service: Service, then: Behaviour, reason: str
    ) -> None:
        """The service embeds and says what to search for; it does not rank."""
        forward = forwarding(*service, path="/v1/search")

        async def behave(call: Call, writer: StreamWriter) -> None:
            await (then if call["found"] else forward)(call, writer)

        text = "please duplicate the paperwork of my purchase"  # no API has any of these words
        vector = catalog.models.queries.vectors((text,))[0]
        visible = catalog.engine.neighbours(vector, 10, EVERYBODY)
        with double.behaving(behave):
            answer = asked(search, text)
        said = report(answer)
        assert (said["status"], said["reason"]) == ("degraded", reason)
        assert "fused first stage" in said["degraded"][0]["reason"]
        assert "hits" not in said
        assert len(set(apis(answer)) & {each.id for each in visible}) >= 5

    @pytest.mark.parametrize("wanted", [{}, {"tenant": "acme"}, {"principals": ["ann"]}])
    def test_who_asks_counts_as_ever(
        self, search: Search, catalog: Catalog, double: Double, wanted: dict[str, Any]
    ) -> None:
        narrow = {"term": {"category": "category1"}}
        with double.behaving(status(500)):
            answer = asked(search, "list, find, copy", {"size": 500}, filter=narrow, **wanted)
        found = set(apis(answer))
        may_see = {
            each.id
            for each in catalog.documents(
                Filter(tenant=wanted.get("tenant", ""), principals=frozenset(wanted.get("principals", ())))
            )
            if each.category == "category1" and each.api.partition("_")[0] in ("list", "find", "copy")
        }
        assert found == may_see

    def test_an_error_for_who_prefers_one(self, search: Search, catalog: Catalog, double: Double) -> None:
        with double.behaving(status(500)), pytest.raises(Refused) as refused:
            asked(search, "a file", {"ext": {"kitpick": {"on_failure": "fail"}}})
        assert refused.value.status == 502

    def test_a_profile_that_the_service_does_not_know_is_named(
        self, search: Search, catalog: Catalog, served: Double
    ) -> None:
        answer = asked(search, "a file", {"ext": {"kitpick": {"profile": "no-such-profile"}}})
        assert report(answer)["reason"] == "refused"
        assert "no-such-profile" in report(answer)["message"]

    def test_the_nodes_deadline_holds(self, search: Search, catalog: Catalog, double: Double) -> None:
        with double.behaving(silent):
            answer = asked(search, "a file", {"ext": {"kitpick": {"deadline_ms": 200}}})
        assert report(answer)["reason"] == "timeout"
        assert 200 <= report(answer)["took_ms"] < 20_000


def test_the_service_sees_what_the_filter_shows_and_nothing_else(
    search: Search, catalog: Catalog, double: Double, service: Service
) -> None:
    """Also what it asks for is searched under the user's filter."""
    with double.behaving(forgetting(forwarding(*service, path="/v1/search"))):
        asked(search, REQUESTS[0], filter={"term": {"category": "category2"}}, tenant="acme")
        shown = [each for call in double.calls for each in call.get("documents", ())]
    seen = [each for each in shown if not isinstance(each, str)]
    assert seen
    assert {each["category"] for each in seen} == {"category2"}
    restricted = {each.id for each in catalog_documents() if each.allowed}
    assert restricted.isdisjoint(each["id"] for each in seen)


class TestDocumentsAreSentOnce:
    """Whatever the service knows of them already, the answer is the same."""

    TEXT = "copy a file, share the folder, and watch the calendar event of this week"

    @pytest.fixture
    def expected(self, search: Search, catalog: Catalog, double: Double, service: Service) -> Any:
        with double.behaving(forgetting(forwarding(*service, path="/v1/search"))):
            hits = asked(search, self.TEXT, {"size": 50})["hits"]["hits"]
        assert len(hits) == 50
        return scores(hits)

    def ask(self, search: Search) -> Any:
        answer = asked(search, self.TEXT, {"size": 50})
        assert report(answer)["status"] == "rescored", report(answer)
        return scores(answer["hits"]["hits"])

    def test_once_known_their_hashes_are_enough(self, search: Search, served: Double, expected: Any) -> None:
        self.ask(search)
        first = len(served.calls)
        assert self.ask(search) == expected
        _, *again = served.calls[first:]
        assert len(again[0]["documents"]) > 100
        assert {len(each) for call in again for each in call["documents"]} == {20}
        assert sum(served.sizes[first:]) <= 60_000

    def test_a_copy_that_forgets_is_sent_all(
        self, search: Search, double: Double, service: Service, expected: Any
    ) -> None:
        """As copies behind one endpoint do that know other documents each."""
        forward, said = forwarding(*service, path="/v1/search"), iter(([0], [1], []))

        async def behave(call: Call, writer: StreamWriter) -> None:
            missing = next(said, []) if call["found"] else []
            lacking = answering(lambda _: {"protocol": 2, "missing": missing})
            await (lacking if missing else forward)(call, writer)

        with double.behaving(behave):
            assert self.ask(search) == expected
            shown = [[n for n, each in enumerate(call["documents"]) if isinstance(each, dict)]
                     for call in double.calls[1:4]]  # fmt: skip
            every = [*range(len(double.calls[3]["documents"]))]
        assert shown == [[], [0], every]

    def test_who_is_never_content_has_answered_wrongly(
        self, search: Search, catalog: Catalog, double: Double, service: Service
    ) -> None:
        forward = forwarding(*service, path="/v1/search")
        lacking = answering(lambda call: {"protocol": 2, "missing": [0]})

        async def behave(call: Call, writer: StreamWriter) -> None:
            await (lacking if call["found"] else forward)(call, writer)

        with double.behaving(behave):
            said = report(asked(search, self.TEXT))
            calls = len(double.calls)
        assert (said["status"], said["reason"], calls) == ("degraded", "invalid_answer", 4)

    def test_an_older_copy_is_sent_what_it_understands(
        self, search: Search, double: Double, service: Service, expected: Any
    ) -> None:
        forward = forwarding(*service, path="/v1/search")

        async def behave(call: Call, writer: StreamWriter) -> None:
            await (status(422) if call["protocol"] > 1 else forward)(call, writer)

        with double.behaving(behave):
            assert self.ask(search) == expected
            assert [call["protocol"] for call in double.calls][:3] == [1, 2, 1]
