"""`POST /v1/search` with sample requests, requests that are turned, two encoders, and too little time."""

from __future__ import annotations

import base64
import re
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from waiting import eventually

from kitpick_engines.contract import IndexSchema
from kitpick_engines.lexical import FIELDS
from kitpick_engines.text import TEMPLATE_VERSION
from kitpick_models.encoders import Encoder
from kitpick_rescorers.intents.store import Intent, IntentStore
from kitpick_rescorers.profiles import FirstStage, Profile, load_profile, profile_toml
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.stages import CrossEncode
from kitpick_service.admission import Extent, SearchCosts
from kitpick_service.errors import Overloaded
from kitpick_service.keys import digest

pytestmark = pytest.mark.needs("weights", "onnxruntime", "serve")

EXCHANGE = (
    Path(__file__).parents[3] / "plugin/src/main/java/org/kitpick/opensearch/catalog/SearchExchange.java"
)
SLANG = "ping the gang about tonight"
VOTES = {"name": "votes", "stages": [{"stage": "fuse", "lexical": 0.0, "intent": 1.0}]}


@pytest.fixture(scope="module")
def samples(service: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One sample request of an API that no ranking finds, and one of the API that they find."""
    encoder = service.service.models.encoder
    texts = [SLANG, "ping the team"]
    path = tmp_path_factory.mktemp("samples") / "intents.db"
    intents = [Intent(SLANG, "demo/mail/send"), Intent("ping the team", "demo/weather/forecast")]
    IntentStore(path).put(intents, list(encoder.encode(texts)), encoder.identity)
    return path


@pytest.fixture(scope="module")
def voting(start: Any, samples: Path) -> Iterator[Any]:
    with start(intents=str(samples), warm_up_seconds=0) as running:
        yield running


def coded(vector: np.ndarray) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def stored(id: str, dimensions: int) -> dict[str, Any]:  # noqa: A002
    """A document as the server holds it, with a vector that says nothing."""
    _, tool, api = id.split("/")
    vector = np.zeros(dimensions, "<f4")
    vector[0] = 1
    return {
        "id": id, "source": "demo", "category": "any", "tool": tool, "api": api, "description": "Does it.",
        "text": f"{tool}: {api}", "deprecated": False, "effect": "unknown",
        "vector_f32": coded(vector),
        "lengths": dict.fromkeys(FIELDS, 1), "counts": {},
    }  # fmt: skip


def body_of(running: Any, found: list[Any], **more: Any) -> dict[str, Any]:
    encoder = running.service.models.encoder
    schema = IndexSchema(encoder.identity, encoder.dimensions, TEMPLATE_VERSION)
    return {
        "query": SLANG, "index": f"tools-apis-{schema.fingerprint}-1", "committed": {"match_all": {}},
        "profile": VOTES, "found": found, **more,
    }  # fmt: skip


def call(running: Any, found: list[Any], **more: Any) -> dict[str, Any]:
    answer = running.post("/v1/search", body_of(running, found, **more))
    assert answer.status_code == 200, answer.text
    decoded: dict[str, Any] = answer.json()
    return decoded


def hits(*sources: dict[str, Any]) -> dict[str, Any]:
    return {"hits": {"hits": [{"_source": each} for each in sources], "total": {"value": len(sources)}}}


def first_stage(running: Any) -> list[Any]:
    """What the rankings find: one API, for every search that is asked for."""
    searches = call(running, [])["searches"]
    known = stored("demo/weather/forecast", running.service.models.encoder.dimensions)
    assert not [each for each in searches if "aggs" in each], "this profile ranks by no words"
    return [hits(known) for _ in searches]


def test_a_document_need_not_be_sent_twice(voting: Any) -> None:
    """The samples' APIs are asked for in a second round; one of them was found in the first."""
    size = voting.service.models.encoder.dimensions
    first, fresh = first_stage(voting), stored("demo/mail/send", size)
    whole = [first, [hits(fresh, stored("demo/weather/forecast", size))]]
    shorter = [first, [hits(fresh, {"id": "demo/weather/forecast", "counts": {}})]]
    kept = [call(voting, found)["ranking"]["results"] for found in (whole, shorter)]
    assert len(kept[0]) == 2
    assert kept[0] == kept[1]


def test_an_answer_without_hits_is_refused(voting: Any) -> None:
    encoder = voting.service.models.encoder
    schema = IndexSchema(encoder.identity, encoder.dimensions, TEMPLATE_VERSION)
    body = {"query": SLANG, "index": f"tools-apis-{schema.fingerprint}-1", "committed": {"match_all": {}}}
    for found in ({}, {"hits": {}}, {"hits": {"hits": [{}]}}, {"hits": {"hits": [{"_source": {}}]}}):
        refused = voting.post("/v1/search", {**body, "found": [[found]]})
        assert refused.status_code == 422, found
        assert "no answers of a search server" in refused.text


@pytest.mark.parametrize(
    ("name", "value"),
    [("tool", [[]]), ("category", False), ("text", 3), ("needs", [None]), ("gives", 7), ("effect", "odd")],
)
def test_a_document_that_no_index_holds_is_refused(service: Any, name: str, value: object) -> None:
    odd = stored("demo/mail/send", service.service.models.encoder.dimensions) | {name: value}
    refused = service.post("/v1/search", body_of(service, [[hits(odd)]]))
    assert (refused.status_code, "no answers of a search server" in refused.text) == (422, True)


def test_counts_of_any_length_are_refused(service: Any) -> None:
    size, profile = service.service.models.encoder.dimensions, "bm25"
    odd = stored("demo/mail/send", size) | {"counts": {"ping": [10**400, 0, 0, 0, 0, 0]}}
    searches = service.post("/v1/search", body_of(service, [], profile=profile)).json()["searches"]
    found = [[relayed(search, [odd]) for search in searches]]
    refused = service.post("/v1/search", body_of(service, found, profile=profile))
    assert (refused.status_code, "no answers of a search server" in refused.text) == (422, True)


def asked_for(search: dict[str, Any]) -> list[str]:
    filters = search["query"]["bool"]["filter"]
    (ids,) = [each["terms"]["id"] for each in filters if "id" in each.get("terms", {})]
    return sorted(ids)


def test_the_apis_of_near_samples_are_asked_for_under_what_the_caller_may_see(voting: Any) -> None:
    (search,) = call(voting, [first_stage(voting)], tenant="acme")["searches"]
    assert asked_for(search) == ["demo/mail/send", "demo/weather/forecast"]
    shown = str(search["query"])
    assert "'public': True" in shown
    assert "'acme'" in shown


def test_only_a_key_that_speaks_for_others_hears_of_the_samples_of_a_tenant(
    start: Any, voting: Any, samples: Path, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.toml"
    entry = "[[keys]]\nname = '{0}'\nsha256 = '{1}'\n{2}\n"
    both = ("node", "speaks_for_others = true"), ("plain", "")
    keys.write_text("".join(entry.format(name, digest(name), more) for name, more in both))
    found = [first_stage(voting)]
    with start(intents=str(samples), keys=str(keys)) as keyed:
        body = body_of(keyed, found, tenant="acme")
        answers = {
            name: keyed.post("/v1/search", body, headers={"authorization": f"Bearer {name}"})
            for name, _ in both
        }
    assert asked_for(answers["node"].json()["searches"][0]) == ["demo/mail/send", "demo/weather/forecast"]
    assert "demo/mail/send" not in answers["plain"].text
    claimed, silent = [each["reason"] for each in answers["plain"].json()["ranking"]["degraded"]]
    assert "were left out" in claimed
    assert "sample requests take no part" in silent


def test_what_is_visible_gets_its_votes(voting: Any) -> None:
    size = voting.service.models.encoder.dimensions
    visible = [stored("demo/mail/send", size), stored("demo/weather/forecast", size)]
    ranking = call(voting, [first_stage(voting), [hits(*visible)]])["ranking"]
    assert ranking["degraded"] == []
    reasons = {each["id"]: each["reasons"][0] for each in ranking["results"]}
    assert "intent rank 1" in reasons["demo/mail/send"], "which no other ranking found"
    assert "dense rank 1 + intent rank 2" in reasons["demo/weather/forecast"]


def test_what_is_hidden_gets_none(voting: Any) -> None:
    visible = stored("demo/weather/forecast", voting.service.models.encoder.dimensions)
    ranking = call(voting, [first_stage(voting), [hits(visible)]])["ranking"]
    assert [each["id"] for each in ranking["results"]] == ["demo/weather/forecast"]


def test_a_damaged_file_takes_the_votes_and_nothing_else(start: Any, tmp_path: Path) -> None:
    (tmp_path / "intents.db").write_bytes(b"no database at all")
    with start(intents=str(tmp_path / "intents.db"), warm_up_seconds=0) as running:
        ranking = call(running, [first_stage(running)])["ranking"]
    (lost,) = ranking["degraded"]
    assert lost["stage"] == "intent"
    assert "not a database" in lost["reason"]
    assert [each["id"] for each in ranking["results"]] == ["demo/weather/forecast"]


def test_a_service_without_samples_asks_for_nothing_more(service: Any) -> None:
    assert call(service, [first_stage(service)])["ranking"]["results"]


READ = {"name": "read", "stages": [{"stage": "fuse", "lexical": 0.0}, {"stage": "cross_encode"}]}


class TestWithoutTimeForScores:
    def ranking(self, running: Any) -> dict[str, Any]:
        searches = call(running, [], profile=READ)["searches"]
        known = stored("demo/weather/forecast", running.service.models.encoder.dimensions)
        found = [[hits(known) for _ in searches]]
        ranking: dict[str, Any] = call(running, found, profile=READ)["ranking"]
        return ranking

    def scored(self, ranking: dict[str, Any]) -> bool:
        return any(each["probability"] is not None for each in ranking["results"])

    def test_a_search_that_finds_no_time_is_ranked_by_words_and_vectors(
        self, start: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Another search is under way that takes hours, as the service believes."""
        with start(deadline_seconds=600) as running:
            admission = running.service.admission
            monkeypatch.setattr(admission, "costs", SearchCosts(1e-3, 3_600.0))
            with admission.call("another", True, 12, 600.0):
                (degraded,) = (found := self.ranking(running))["degraded"]
                assert admission.ahead(Extent.FULL) == pytest.approx(12 * 3_600.0, rel=0.01)
                assert admission.ahead(Extent.BARE) == 0, "what is answered gives its place back"
            assert degraded["stage"] == "cross_encode"
            assert "no time for it beside other searches" in degraded["reason"]
            assert not self.scored(found)
            assert [each["id"] for each in found["results"]] == ["demo/weather/forecast"]

    def test_so_is_one_that_the_cross_encoder_has_no_room_for(
        self, start: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """What others ask the model by other paths is not known before."""

        def full(rows: Any, ticket: Any) -> Any:
            raise Overloaded("9 tokens are waiting", 1)

        with start(deadline_seconds=600, score_cache=0) as running:
            whole = self.ranking(running)
            assert (whole["degraded"], self.scored(whole)) == ([], True)
            monkeypatch.setattr(running.service.models.queues[1], "run", full)
            found = self.ranking(running)
            assert [each["stage"] for each in found["degraded"]] == ["cross_encode"]
            assert not self.scored(found)

    def test_a_search_that_cannot_be_answered_at_all_is_refused_before_anything_is_done(
        self, start: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with start(deadline_seconds=600) as running:
            admission = running.service.admission
            monkeypatch.setattr(admission, "costs", SearchCosts(3_600.0, 3_600.0))
            with admission.call("one", True, 12, 600.0), admission.call("other", True, 12, 600.0):
                refused = running.post("/v1/search", body_of(running, []))
            assert refused.status_code == 429
            assert refused.json()["error"]["code"] == "overloaded"
            assert running.service.queues[0].speed == 0, "not even embedded"

    def test_then_its_body_is_not_decoded(self, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """A mistake in it is not found; what was begun is decoded as ever."""
        with start(deadline_seconds=600) as running:
            admission = running.service.admission
            wrong, begun = body_of(running, [], unknown=1), body_of(running, [[]], unknown=1)
            assert running.post("/v1/search", wrong).status_code == 422
            monkeypatch.setattr(admission, "costs", SearchCosts(3_600.0, 3_600.0))
            with admission.call("one", True, 12, 600.0), admission.call("other", True, 12, 600.0):
                refused = [running.post("/v1/search", body) for body in (wrong, begun)]
                nonsense = running.post("/v1/search", {"found": 3})
            assert [each.status_code for each in refused] == [429, 422]
            assert int(refused[0].headers["retry-after"]) > 1
            assert nonsense.status_code == 422

    def test_the_deadline_in_a_body_counts_before_it_is_decoded(
        self, start: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with start(deadline_seconds=600) as running:
            admission = running.service.admission
            monkeypatch.setattr(admission, "costs", SearchCosts(30.0, 0.0))
            far = '{"deadline_ms": 1%s}' % ("0" * 400)
            assert running.post("/v1/search", far.encode()).status_code == 422, "no number of any length"
            with admission.call("one", True, 0, 30.0), admission.call("other", True, 12, 30.0):
                asked = [body_of(running, [], deadline_ms=n, unknown=1) for n in (20_000, 500_000)]
                statuses = [running.post("/v1/search", body).status_code for body in asked]
            assert statuses == [429, 422]

    def test_readiness_says_what_a_search_takes(self, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        with start() as running:
            assert running.get("/health/ready").json()["search_ms"] == 0, "nothing was measured"
            monkeypatch.setattr(running.service.admission, "costs", SearchCosts(0.1, 0.05))
            assert running.get("/health/ready").json()["search_ms"] == pytest.approx(700)

    def test_so_does_every_answer(self, start: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """Refusals, too: a caller whose deadline is too short for any answer learns it by them."""
        with start() as running:
            assert "x-search-ms" not in running.post("/v1/search", {}).headers, "nothing was measured"
            monkeypatch.setattr(running.service.admission, "costs", SearchCosts(0.1, 0.05))
            answers = [running.post("/v1/search", body) for body in ({}, body_of(running, []))]
        assert [each.status_code for each in answers] == [422, 200]
        assert [each.headers["x-search-ms"] for each in answers] == ["700", "700"]


@pytest.fixture(scope="module")
def turning(start: Any, service: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service whose own profile turns every request to the first axis."""
    encoder, folder = service.service.models.encoder, tmp_path_factory.mktemp("turning")
    weights = np.zeros((encoder.dimensions,) * 2, np.float32)
    weights[0] = 100 * encoder.encode([SLANG])[0]
    (folder / "m.npz").write_bytes(RequestMatrix(encoder.identity, weights).encoded())
    named = FirstStage(request_matrix="m.npz")
    stages = (*load_profile("dense").stages, CrossEncode(cosine=20.0))
    (folder / "mine.toml").write_text(profile_toml(Profile("mine", stages, first_stage=named)))
    with start(profile=str(folder / "mine.toml"), warm_up_seconds=0) as running:
        yield running


def vector_of(searches: list[dict[str, Any]]) -> np.ndarray:
    (search,) = searches
    (vector,) = _values(search, "vector")
    return np.array(vector)


def _values(found: Any, name: str) -> list[Any]:
    if isinstance(found, list):
        return [value for each in found for value in _values(each, name)]
    if not isinstance(found, dict):
        return []
    own = [found[name]] if isinstance(found.get(name), list) else []
    return own + [value for each in found.values() for value in _values(each, name)]


def test_the_services_own_profile_turns_the_request(turning: Any) -> None:
    plain, turned = (vector_of(call(turning, [], profile=which)["searches"]) for which in ("dense", "mine"))
    assert plain[0] < 0.5
    assert turned[0] > 0.99


def test_the_services_own_profile_turns_a_vector_that_comes_with_the_call(turning: Any) -> None:
    encoder = turning.service.models.encoder
    asked, there = encoder.encode(["a request"])[0], np.eye(encoder.dimensions)[0]
    candidates = [
        {"id": name, "text": "Does it.", "vector": coded(vector), "dense": {"rank": rank, "score": 0.5}}
        for rank, (name, vector) in enumerate([("as it came", asked), ("turned", there)], start=1)
    ]

    def first(model: str) -> tuple[str, list[str]]:
        body = {"query": "a request", "vector": coded(asked), "vector_model": model, "candidates": candidates}
        answer = turning.post("/v1/rescore", body)
        assert answer.status_code == 200, answer.text
        found = answer.json()
        return found["results"][0]["id"], [each["stage"] for each in found["degraded"]]

    assert first(encoder.identity) == ("turned", [])
    assert first("other@1") == ("as it came", ["request_matrix"])


def test_a_caller_names_no_file(turning: Any) -> None:
    profile = {
        "name": "theirs",
        "stages": [{"stage": "fuse"}],
        "first_stage": {"request_matrix": "/etc/passwd"},
    }
    for path, more in (("/v1/search", {"index": "x", "committed": {}}), ("/v1/rescore", {"candidates": []})):
        refused = turning.post(path, {"query": SLANG, "profile": profile, **more})
        assert refused.status_code == 422, refused.text
        assert "only the service's own profile names a file" in refused.text


@pytest.fixture(scope="module")
def both(start: Any) -> Iterator[Any]:
    with start(former_models="small") as running:
        yield running


class TestTwoEncoders:
    """While catalogs move from one model set to another, both are served: nothing is degraded in between."""

    def ranking(self, running: Any, models: Any) -> dict[str, Any]:
        """By vectors alone, of an index that these models were used for."""
        body = {"query": SLANG, "index": f"tools-apis-{models.schema.fingerprint}-1",
                "committed": {"match_all": {}}, "profile": "dense"}  # fmt: skip
        searches = running.post("/v1/search", {**body, "found": []}).json()["searches"]
        found = [[hits(stored("demo/mail/send", models.schema.dimensions)) for _ in searches]]
        ranking: dict[str, Any] = running.post("/v1/search", {**body, "found": found}).json()["ranking"]
        return ranking

    def test_a_request_is_embedded_for_the_index_that_is_searched(self, both: Any) -> None:
        for models in (both.service.models, both.service.former):
            ranking = self.ranking(both, models)
            assert ranking["degraded"] == []
            assert ranking["models"]["encoder"]["identity"] == models.encoder.identity

    def test_they_do_not_embed_the_samples_by_turns(self, start: Any, samples: Path, tmp_path: Path) -> None:
        """Each search would undo what the last one of the other index did, and votes would come and go."""
        file = Path(shutil.copy(samples, tmp_path / "samples.db"))

        def ranking(running: Any, models: Any) -> dict[str, Any]:
            body = body_of(running, [], index=f"tools-apis-{models.schema.fingerprint}-1")
            known = stored("demo/mail/send", models.schema.dimensions)
            while (answer := running.post("/v1/search", body).json())["searches"]:
                body["found"].append([hits(known) for _ in answer["searches"]])
            led: dict[str, Any] = answer["ranking"]
            return led

        with start(former_models="small", intents=str(file)) as running:
            own, former = running.service.models, running.service.former
            assert ranking(running, own)["degraded"] == []
            (lost,) = ranking(running, former)["degraded"]
            assert "embedded by a newer model set" in lost["reason"]
            with closing(sqlite3.connect(file)) as connection:
                assert connection.execute("SELECT DISTINCT model FROM intents").fetchall() == [
                    (own.encoder.identity,)
                ]

    def test_a_copy_is_not_ready_while_one_of_them_does_not_answer(self, start: Any) -> None:
        with start(former_models="small") as running:
            assert running.get("/health/ready").status_code == 200
            running.service.former.close()
            eventually(lambda: running.get("/health/ready").status_code == 503)

    def test_with_one_set_the_other_index_is_degraded(self, service: Any, both: Any) -> None:
        (degraded,) = self.ranking(service, both.service.former)["degraded"]
        assert degraded["stage"] == "embed"


def test_what_one_tenant_asked_is_read_again_for_another(voting: Any) -> None:
    """The key of a search server is one for all: neither times nor traces tell what others asked."""
    size = voting.service.models.encoder.dimensions
    profile = {"name": "read", "stages": [*VOTES["stages"], {"stage": "cross_encode", "candidates": 5}]}
    both = [hits(stored("demo/mail/send", size), stored("demo/weather/forecast", size))]
    found, known = [first_stage(voting), both], []
    for tenant in ("acme", "acme", "globex"):
        ranking = call(voting, found, profile=profile, tenant=tenant, explain=True)["ranking"]
        (note,) = [each["note"] for each in ranking["trace"] if each["stage"] == "cross_encode"]
        known.append(int(note.split()[2]))
    assert known == [0, 2, 0]


def test_a_request_that_only_the_encoder_reads_is_found_by_its_vector(
    service: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a process of its own: who asks the service has the same models."""
    query, models = "σταμάτησε την υπηρεσία", service.service.models
    candidates = [{"id": name, "text": name, "dense": {"rank": n}} for n, name in enumerate("ab", start=1)]
    body = {"query": query, "index": f"tools-apis-{models.schema.fingerprint}-1",
            "committed": {"match_all": {}}, "profile": "dense"}  # fmt: skip
    searches = service.post("/v1/search", body).json()["searches"]
    found = [[hits(stored("demo/mail/send", models.schema.dimensions)) for _ in searches]]
    for languages, abstained in ((("el",), False), ((), True)):
        monkeypatch.setattr(Encoder, "reads_language", lambda _, code, read=languages: code in read)
        led = service.post("/v1/search", {**body, "found": found}).json()["ranking"]
        vector = coded(np.eye(1, models.schema.dimensions))
        sent = {"query": query, "candidates": candidates, "profile": "dense", "vector": vector}
        rescored = service.post("/v1/rescore", sent).json()
        assert [led["abstained"], rescored["abstained"]] == [abstained, abstained]
        assert ("which the encoder reads" in str(rescored["degraded"])) is not abstained


def relayed(search: dict[str, Any], documents: list[dict[str, Any]]) -> dict[str, Any]:
    """What a server answers that holds documents of which none is better than another."""
    found = hits(*documents[: search["size"]])
    found["hits"]["total"]["value"] = len(documents)
    if "aggs" in search:
        counted = {name: {"value": len(documents)} for name in FIELDS}
        terms = search["aggs"].get("holders", {"filters": {"filters": {}}})["filters"]["filters"]
        counted["holders"] = {"buckets": {name: {"doc_count": len(documents)} for name in terms}}
        found["aggregations"] = counted
    return found


@pytest.mark.parametrize("query", ["list all PRs of `Zed`", "lisst the requst PRs of `Zed`"])
def test_equal_scores_and_words_that_are_read_anew_take_no_more_rounds_than_the_plugin_plays(
    voting: Any, query: str
) -> None:
    size = voting.service.models.encoder.dimensions
    text = {"rerank_text": "lists a pull request"}
    documents = [stored(f"demo/t{number:04}/pull_request", size) | text for number in range(420)]
    found: list[Any] = []
    while (answer := call(voting, found, query=query, profile="hybrid"))["searches"]:
        found.append([relayed(search, documents) for search in answer["searches"]])
    assert answer["ranking"]["results"]
    assert 8 < len(found) <= most_rounds_of_the_plugin()


def most_rounds_of_the_plugin() -> int:
    played = re.search(r"MAX_ROUNDS = (\d+);", EXCHANGE.read_text("utf-8"))
    assert played is not None
    return int(played[1])
