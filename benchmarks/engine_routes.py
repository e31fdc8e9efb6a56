"""What each way of searching Elasticsearch without a plugin finds: part `routes` of the bench `engines`.

ToolBench dev in a real node, and a real rescorer service beside it. The stored searches of `plugin/templates`
are rendered here: the node has no module for templates. `rrf` and the inference endpoint need a licence,
and modules that are not on Maven Central either: they are computed from the node's rankings, as documented.
"""

from __future__ import annotations

import json
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from shared_data import ROOT

from kitpick.evaluation.measuring import Judged, Plan, open_systems, ranker_of
from kitpick_engines.contract import Vector
from kitpick_engines.remote.engine import RemoteEngine
from kitpick_evaluation.answer import Answer, Ranker
from kitpick_evaluation.dataset import JudgedQuery
from kitpick_evaluation.evaluate import Evaluation, evaluate

sys.path[:0] = [str(ROOT / "tests" / each) for each in ("nodes", "plugin", "engines")]

from real_service import serving  # noqa: E402
from stored_searches import rendered  # noqa: E402

METRICS = ("recall@5", "ndcg@5", "comp@5")
PROFILES = ("hybrid", "kitpick")
RRF = 60
SECONDS = 1200
Json = dict[str, Any]
Route = Callable[[str], Sequence[str]]
"""Ids for a request in words, best first."""


def _told_alone(degraded: Sequence[Mapping[str, str]]) -> bool:
    """Whether a route did all that it can: that a request is long for the cross-encoder is told, too."""
    return all(each["stage"] in {"fuse", "long_request"} for each in degraded)


class Rescorer:
    """The service, as an HTTP client without kitpick asks it."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._key = key

    def post(self, path: str, body: Json) -> Json:
        """The decoded answer."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self._key}"}
        request = urllib.request.Request(self._url + path, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            found: Json = json.loads(answer.read())
        return found


class Routes:
    """All ways over one catalog in Elasticsearch."""

    def __init__(self, engine: RemoteEngine, rescorer: Rescorer, vector: Callable[[str], Vector]) -> None:
        self._server = engine.server
        self._name = engine.address.name
        self._rescorer = rescorer
        self._vector = vector
        self._known: tuple[str, list[Json], list[Json]] = ("", [], [])

    def all(self) -> dict[str, Route]:
        """Every way, by what a table calls it."""
        return {
            "multi_match over its fields": self._multi_match,
            "knn": lambda text: _ids(self._rankings(text)[1]),
            "template words": lambda text: _ids(self._rankings(text)[0]),
            "template search": lambda text: _ids(self._hits("03-search", text)),
            "rrf retriever (computed)": lambda text: [each["id"] for each in self._fused(text)],
            "templates, /v1/rescore hybrid": lambda text: self._rescored(text, "hybrid"),
            "templates, /v1/rescore": lambda text: self._rescored(text, "kitpick"),
            "/v1/search": self._led,
            "inference rerank (computed)": lambda text: self._reranked(text, "rerank"),
            "inference kitpick (computed)": lambda text: self._reranked(text, "kitpick"),
        }

    def _multi_match(self, text: str) -> list[str]:
        fields = ["description", "api.text", "tool.text"]
        return _ids(self._searched({"query": {"multi_match": {"query": text, "fields": fields}}, "size": 50}))

    def _rankings(self, text: str) -> tuple[list[Json], list[Json]]:
        """Both rankings, which several ways share."""
        if self._known[0] != text:
            self._known = (text, self._hits("01-words", text), self._hits("02-vectors", text))
        return self._known[1:]

    def _hits(self, template: str, text: str) -> list[Json]:
        values = {"text": text, "tenant": "", "vector": self._vector(text).tolist()}
        return self._searched(rendered(template, values))

    def _searched(self, body: Json) -> list[Json]:
        hits: list[Json] = self._server.call("POST", f"/{self._name}/_search", body)["hits"]["hits"]
        return hits

    def _fused(self, text: str) -> list[Json]:
        """Sources of the hits by reciprocal rank over both rankings, as the `rrf` retriever documents it."""
        scores: dict[str, float] = {}
        sources: dict[str, Json] = {}
        for ranking in self._rankings(text):
            for rank, hit in enumerate(ranking, start=1):
                source = hit["_source"]
                sources[source["id"]] = source
                scores[source["id"]] = scores.get(source["id"], 0.0) + 1 / (RRF + rank)
        return [sources[key] for key in sorted(scores, key=lambda key: (-scores[key], key))[:50]]

    def _rescored(self, text: str, profile: str) -> list[str]:
        """What a client does with the answer to `_msearch/template`."""
        candidates: dict[str, Json] = {}
        for place, ranking in zip(("lexical", "dense"), self._rankings(text), strict=True):
            for rank, hit in enumerate(ranking, start=1):
                source = hit["_source"]
                candidate = candidates.setdefault(source["id"], _candidate(source))
                candidate[place] = {"rank": rank, "score": hit["_score"]}
        body = {"query": text, "candidates": [*candidates.values()], "profile": profile}
        answer = self._rescorer.post("/v1/rescore", body)
        assert _told_alone(answer["degraded"]), answer["degraded"]
        return [each["id"] for each in answer["results"]]

    def _led(self, text: str) -> list[str]:
        """A search that the rescorer leads: its searches go to Elasticsearch until there is a ranking."""
        (index,) = aliases = self._server.call("GET", f"/_alias/{self._name}")
        committed = aliases[index]["aliases"][self._name]["filter"]
        call: Json = {"query": text, "index": index, "committed": committed, "engine": "elasticsearch"}
        found: list[list[Json]] = []
        while not (answer := self._rescorer.post("/v1/search", {**call, "found": found}))["ranking"]:
            bodies = answer["searches"]
            found.append([self._server.call("POST", f"/{self._name}/_search", body) for body in bodies])
        assert _told_alone(answer["ranking"]["degraded"]), answer["ranking"]["degraded"]
        return [each["id"] for each in answer["ranking"]["results"]]

    def _reranked(self, text: str, model: str) -> list[str]:
        """What Elasticsearch does with the answer of the inference endpoint: its scores decide."""
        window = self._fused(text)
        documents = [each["text"] for each in window]
        answer = self._rescorer.post("/v1/rerank", {"model": model, "query": text, "documents": documents})
        best = sorted(answer["results"], key=lambda each: -each["relevance_score"])
        return [window[each["index"]]["id"] for each in best]


def measure_routes(judged: Judged, engine: RemoteEngine, plan: Plan) -> Evaluation:
    """Every way and Python's profiles, on the same requests."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = stack.enter_context(serving(folder, "--set", f"deadline_seconds={SECONDS}"))
        queries = judged.catalog.models.queries
        routes = Routes(engine, Rescorer(*service), lambda text: queries.vectors((text,))[0])
        rankers = {
            f"Python, {name}": ranker_of(each) for name, each in open_systems(judged.catalog, plan).items()
        }
        rankers |= {name: ranker(route) for name, route in routes.all().items()}
        return evaluate(judged.queries, rankers, judged.facets, sampling=plan.sampling)


def ranker(route: Route) -> Ranker:
    """A way as an evaluation asks it."""

    def rank(query: JudgedQuery, k: int) -> Answer:
        return Answer(ids=tuple(route(query.text))[:k])

    return rank


def route_figures(measured: Evaluation) -> Json:
    """By way; and the points of R@5 that the best way of a basic licence has more than Python's `hybrid`."""
    # The mean over subsets comes behind them.
    overall = {row.profile: row.figures for row in measured.rows if row.facet == "subset"}
    found = {
        name: {metric: round(100 * figures[metric], 1) for metric in METRICS}
        for name, figures in overall.items()
    }
    best = found["/v1/search"]["recall@5"]
    return {"routes": found, "es_minus_hybrid": round(best - found["Python, hybrid"]["recall@5"], 1)}


def _ids(hits: Sequence[Json]) -> list[str]:
    return [hit["_source"]["id"] for hit in hits]


def _candidate(source: Json) -> Json:
    """A hit as `POST /v1/rescore` takes it."""
    names = ("id", "category", "tool", "api", "text", "deprecated", "effect", "needs", "gives")
    said = {name: source[name] for name in names if name in source}
    return {**said, "vector": source["vector_f32"]}
