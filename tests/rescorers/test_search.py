"""The way of one search over a real index, with an encoder whose every vector is written here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from kitpick_engines.contract import Filter, IndexedDocument, IndexSchema, Place, Vector
from kitpick_engines.document import ApiDocument
from kitpick_engines.sqlite import SqliteEngine
from kitpick_foundation.errors import MissingExtra
from kitpick_models.errors import ModelError, ProviderRefused
from kitpick_rescorers.contracts import Voted
from kitpick_rescorers.errors import EmptyCatalog, InvalidRequest
from kitpick_rescorers.models import Models
from kitpick_rescorers.packing import PackingSizes
from kitpick_rescorers.profiles import FirstStage, Profile, load_profile, profile_toml
from kitpick_rescorers.request_matrix import RequestMatrix
from kitpick_rescorers.search import ALL_RANKINGS, LocalRescorer, Search, prepare
from kitpick_rescorers.stages import CrossEncode, Fuse
from kitpick_rescorers.state import LONG_REQUEST, Degradation

SCHEMA = IndexSchema("axes@1", 2, 1)
NOBODY = Filter()
HYBRID = Profile("hybrid", (Fuse(),))
WORDS = Profile("words", (Fuse(dense=0.0),))
TWO = "Tell me the weather of today. Then send a mail about that."


class Axes:
    """Weather lies along one axis, mail along the other."""

    def __init__(
        self,
        identity: str = "axes@1",
        failure: Exception | None = None,
        unmatched_below: float | None = None,
    ) -> None:
        self.identity = identity
        self.failure = failure
        self.unmatched_below = unmatched_below
        self.asked: list[tuple[str, ...]] = []

    def knows(self, word: str) -> bool:
        return True

    def vectors(self, texts: tuple[str, ...]) -> Sequence[Vector]:
        self.asked.append(texts)
        if self.failure is not None:
            raise self.failure
        made = [np.array(["weather" in text, "mail" in text], np.float32) + np.float32(0.1) for text in texts]
        return [vector / np.linalg.norm(vector) for vector in made]


class NoModels:
    """A source that lacks the cross-encoder."""

    def for_needs(self, needs: frozenset[str]) -> tuple[Models, tuple[Degradation, ...]]:
        missing = (Degradation("cross_encoder", "not here"),) if "scorer" in needs else ()
        return Models(), missing


def api(name: str, description: str, **more: object) -> ApiDocument:
    return ApiDocument(
        id=f"s/t/{name}", source="s", category="c", tool="t", api=name, description=description, **more
    )


def measure(documents: Sequence[ApiDocument]) -> PackingSizes:
    return PackingSizes("apiece", {each.id: 10 for each in documents}, {each.id: 6 for each in documents})


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[SqliteEngine]:
    opened = SqliteEngine(tmp_path / "catalog.db")
    yield opened
    opened.close()


@pytest.fixture
def stocked(engine: SqliteEngine) -> SqliteEngine:
    held = [
        (api("now", "weather of a city"), (1.0, 0.0)),
        (api("send", "send a mail"), (0.0, 1.0)),
        (api("pay", "pay the bill of the weather station", allowed=("boss",)), (0.8, 0.6)),
    ]
    with engine.writing(engine.ensure(SCHEMA)) as writer:
        writer.write([IndexedDocument(each, np.array(vector, np.float32)) for each, vector in held])
    return engine


def search(engine: SqliteEngine, encoder: Axes | None = None, voters: object = None) -> Search:
    return Search(engine, encoder or Axes(), LocalRescorer(NoModels()), measure, voters)  # type: ignore[arg-type]


def test_a_request_goes_all_the_way_to_documents(stocked: SqliteEngine) -> None:
    found = search(stocked).run("weather", HYBRID, 1, NOBODY)
    (hit,) = found.hits
    assert (hit.id, hit.rank, hit.document.description) == ("s/t/now", 1, "weather of a city")
    assert found.degraded == ()
    assert found.timings.keys() == {"embed", "first_stage", "rescore", "fetch", "rescore.fuse"}
    assert [item.id for item in found.seen.candidates] == ["s/t/now", "s/t/send"], "all that came into sight"


def test_whoever_may_not_see_an_api_never_does(stocked: SqliteEngine) -> None:
    boss = Filter(principals=frozenset({"boss"}))
    seen = {
        who: {hit.id for hit in search(stocked).run("weather", HYBRID, 9, who).hits} for who in (NOBODY, boss)
    }
    assert seen[boss] - seen[NOBODY] == {"s/t/pay"}


def test_nothing_is_embedded_where_nothing_needs_a_vector(stocked: SqliteEngine) -> None:
    for text, profile in (("weather", WORDS), ("  ", HYBRID)):
        encoder = Axes()
        assert search(stocked, encoder).run(text, profile, 1, NOBODY).degraded == ()
        assert encoder.asked == []


@pytest.mark.parametrize("failure", [ModelError("broken"), MissingExtra("cpu", "models")])
def test_without_an_encoder_words_find_and_the_answer_says_so(
    stocked: SqliteEngine, failure: Exception
) -> None:
    profile = Profile("p", (Fuse(sentence=1.0),))
    found = search(stocked, Axes(failure=failure)).run(TWO, profile, 5, NOBODY)
    assert found.degraded == (Degradation("embed", str(failure)),)
    assert {hit.id for hit in found.hits} == {"s/t/now", "s/t/send"}
    assert all(item.dense is None and item.sentence is not None for item in found.seen.candidates)


def test_a_device_that_was_asked_for_is_never_replaced_in_silence(stocked: SqliteEngine) -> None:
    with pytest.raises(ProviderRefused):
        search(stocked, Axes(failure=ProviderRefused("cuda", "none"))).run("weather", HYBRID, 1, NOBODY)


def test_vectors_of_another_model_are_not_compared_and_the_answer_says_so(stocked: SqliteEngine) -> None:
    found = search(stocked, Axes("other@2")).run("weather", HYBRID, 5, NOBODY)
    (degraded,) = found.degraded
    assert degraded.stage == "embed"
    assert "vectors of axes@1, the encoder in use is other@2: ingest" in degraded.reason
    assert [hit.id for hit in found.hits] == ["s/t/now"]
    assert found.seen.vector is None
    assert (found.seen.vector_model, found.seen.candidates[0].dense) == ("", None)


def test_an_empty_catalog_is_an_error_that_names_the_cure(engine: SqliteEngine) -> None:
    with pytest.raises(EmptyCatalog, match="kitpick ingest"):
        search(engine).run("weather", HYBRID, 1, NOBODY)


def test_what_is_missing_of_the_models_is_said(stocked: SqliteEngine) -> None:
    found = search(stocked).run("weather", Profile("p", (Fuse(), CrossEncode())), 1, NOBODY)
    assert found.hits
    assert [item.stage for item in found.degraded] == ["cross_encoder", "cross_encode"]


@pytest.mark.parametrize("stages", [(), (CrossEncode(),)])
def test_a_profile_that_proposes_nothing_is_refused(stocked: SqliteEngine, stages: tuple[Any, ...]) -> None:
    with pytest.raises(InvalidRequest, match="profile 'p' has no stage that asks for a ranking"):
        search(stocked).run("weather", Profile("p", stages), 1, NOBODY)


def test_fewer_than_no_hits_are_refused(stocked: SqliteEngine) -> None:
    with pytest.raises(InvalidRequest):
        search(stocked).run("weather", HYBRID, -1, NOBODY)


@pytest.mark.parametrize(
    ("budget", "kept", "slimmed"),
    [(5, 0, 0), (6, 1, 1), (10, 1, 0), (12, 2, 2), (16, 2, 1), (20, 2, 0), (1_000, 2, 0)],
)
def test_definitions_are_slimmed_before_hits_are_dropped(
    stocked: SqliteEngine, budget: int, kept: int, slimmed: int
) -> None:
    found = search(stocked).run("weather", HYBRID, 5, NOBODY, budget)
    assert (len(found.hits), len(found.slimmed)) == (kept, slimmed)
    assert [hit.rank for hit in found.hits] == list(range(1, kept + 1))
    assert found.rescored.trace[-1].details["tokens"] <= budget


class Votes:
    """Somebody who votes for mail, whatever is asked."""

    def add_votes(self, candidates, vector, permitted, index, encoder, request=""):  # type: ignore[no-untyped-def]
        voted = [replace(c, intent=Place(1, 1.0)) if c.api == "send" else c for c in candidates]
        return Voted(voted, 0.5)


def test_votes_count_where_a_profile_gives_them_weight(stocked: SqliteEngine) -> None:
    voted = search(stocked, voters=Votes())
    first = {
        weight: voted.run("weather", Profile("p", (Fuse(intent=weight),)), 1, NOBODY) for weight in (0.0, 9.0)
    }
    assert [found.hits[0].id for found in first.values()] == ["s/t/now", "s/t/send"]
    assert [found.seen.intent_trust for found in first.values()] == [1.0, 0.5]


def test_the_parts_of_the_way_are_the_whole(stocked: SqliteEngine) -> None:
    way = search(stocked)
    query, request = way.candidates(way.prepare(TWO, ALL_RANKINGS), ALL_RANKINGS, 200, NOBODY)
    profile = Profile("p", (Fuse(sentence=1.0),))
    rescored, _ = way.rank(request, profile, NOBODY)
    whole = way.run(TWO, profile, 10, NOBODY)
    assert query.degraded == ()
    assert [(hit.id, hit.score) for hit in rescored.results] == [(hit.id, hit.score) for hit in whole.hits]


def test_sentences_are_embedded_together_and_only_where_they_count() -> None:
    encoder = Axes()
    query = prepare(TWO, frozenset({"dense", "sentence"}), encoder)
    ((whole, *sentences),) = encoder.asked
    assert whole == TWO
    assert [each.text for each in query.sentences] == sentences
    assert prepare(TWO, frozenset({"dense"}), encoder).sentences == ()


DENSE = Profile("dense", (Fuse(lexical=0.0),))
ELSEWHERE = np.array([[-1.0, 1.0], [1.0, -1.0]], np.float32)
"""Turns what asks for the weather into what asks for mail, and the other way round."""


def test_a_matrix_turns_the_request_and_its_sentences(stocked: SqliteEngine) -> None:
    way = search(stocked)
    matrix = RequestMatrix("axes@1", ELSEWHERE)
    plain = way.prepare("Tell me the weather.", ALL_RANKINGS)
    _, straight = way.candidates(plain, ALL_RANKINGS, 200, NOBODY)
    query, turned = way.candidates(plain, ALL_RANKINGS, 200, NOBODY, matrix)
    assert [min(r.candidates, key=lambda c: c.dense.rank).api for r in (straight, turned)] == ["now", "send"]
    assert query.vector is not None
    assert turned.vector is query.vector
    assert np.allclose(query.vector, matrix.turned(plain.vector))
    both = way.prepare(TWO, ALL_RANKINGS)
    query, _ = way.candidates(both, ALL_RANKINGS, 200, NOBODY, matrix)
    assert [np.argmax(each.vector) for each in query.sentences] == [1, 0], "weather → mail, mail → weather"


def test_sample_requests_are_compared_with_the_request_as_it_came(stocked: SqliteEngine) -> None:
    class Watching:
        def add_votes(self, candidates, vector, *_: object) -> Voted:
            self.vector = vector
            return Voted(list(candidates))

    voters = Watching()
    way = search(stocked, voters=voters)
    query = way.prepare("weather", ALL_RANKINGS)
    way.candidates(query, ALL_RANKINGS, 200, NOBODY, RequestMatrix("axes@1", ELSEWHERE))
    assert voters.vector is query.vector


@pytest.mark.parametrize(
    "matrix", [RequestMatrix("other@2", ELSEWHERE), RequestMatrix("axes@1", np.eye(3, dtype=np.float32))]
)
def test_a_matrix_of_other_vectors_turns_nothing_and_the_answer_says_so(
    stocked: SqliteEngine, matrix: RequestMatrix
) -> None:
    way = search(stocked)
    plain = way.prepare("weather", ALL_RANKINGS)
    query, asked = way.candidates(plain, ALL_RANKINGS, 200, NOBODY, matrix)
    assert asked.vector is plain.vector
    (why,) = query.degraded
    assert why.stage == "request_matrix"
    assert "run kitpick adapt again" in why.reason


def test_a_search_turns_requests_by_the_matrix_of_its_profile(stocked: SqliteEngine, tmp_path: Path) -> None:
    (tmp_path / "m.npz").write_bytes(RequestMatrix("axes@1", ELSEWHERE).encoded())
    (tmp_path / "mine.toml").write_text(
        profile_toml(replace(DENSE, first_stage=FirstStage(request_matrix="m.npz")))
    )
    turned = load_profile(tmp_path / "mine.toml")
    found = [search(stocked).run("weather", profile, 1, NOBODY) for profile in (DENSE, turned)]
    assert [each.hits[0].document.api for each in found] == ["now", "send"]


def test_another_index_is_searched_the_same_way(stocked: SqliteEngine, tmp_path: Path) -> None:
    other = SqliteEngine(tmp_path / "other.db")
    try:
        with other.writing(other.ensure(SCHEMA)) as writer:
            writer.write([IndexedDocument(api("rain", "weather radar"), np.array([1.0, 0.0], np.float32))])
        found = search(stocked).over(other).run("weather", HYBRID, 5, NOBODY)
        assert [hit.document.api for hit in found.hits] == ["rain"]
    finally:
        other.close()


def test_a_document_that_vanished_meanwhile_is_left_out(stocked: SqliteEngine) -> None:
    class Vanishing:
        """An index from which a sync removes a document between ranking and fetching."""

        url = stocked.url
        search, apis_of_tools, neighbours = stocked.search, stocked.apis_of_tools, stocked.neighbours

        def fetch(self, ids: Sequence[str], filter: Filter) -> list[ApiDocument]:  # noqa: A002
            return [each for each in stocked.fetch(ids, filter) if each.api != "now"]

    found = search(stocked).over(Vanishing()).run("weather and mail", HYBRID, 5, NOBODY)
    assert [(hit.rank, hit.document.api) for hit in found.hits] == [(1, "send")]


def test_a_budget_that_nothing_fits_into_is_told(stocked: SqliteEngine) -> None:
    for k, budget, reasons in ((5, 5, ["none of 2 definitions fits into 5 tokens: name a larger budget"]),
                               (5, 6, []), (0, 5, [])):  # fmt: skip
        found = search(stocked).run("weather and mail", HYBRID, k, NOBODY, budget)
        assert [each.reason for each in found.degraded] == reasons
        assert len(found.hits) == (budget == 6)


PARTLY = "Tell me the weather of today. Then book a table for two. It is a rainy day."


def unmatched(stocked: SqliteEngine, text: str, encoder: Axes) -> tuple[str, ...]:
    return search(stocked, encoder).run(text, Profile("p", (Fuse(sentence=1.0),)), 5, NOBODY).unmatched


def test_a_sentence_that_no_api_is_like_is_named(stocked: SqliteEngine) -> None:
    assert unmatched(stocked, PARTLY, Axes(unmatched_below=0.9)) == ("Then book a table for two.",)


def test_no_sentence_is_named_where_every_one_has_its_api(stocked: SqliteEngine) -> None:
    assert unmatched(stocked, TWO, Axes(unmatched_below=0.9)) == ()


def test_no_sentence_is_named_where_the_vectors_are_lost(stocked: SqliteEngine) -> None:
    """Where a model fails, or is another one than the catalog was built with, what is near is unknown."""
    broken = Axes(failure=ModelError("no memory"), unmatched_below=0.9)
    assert unmatched(stocked, PARTLY, broken) == ()
    assert unmatched(stocked, PARTLY, Axes("other@1", unmatched_below=0.9)) == ()


def test_a_request_without_vectors_that_was_cut_says_so(stocked: SqliteEngine) -> None:
    said = prepare("weather " * 10_000, frozenset({"lexical"}), Axes()).degraded
    assert [each.stage for each in said] == [LONG_REQUEST]


def test_no_sentence_is_named_by_a_model_that_was_not_measured(stocked: SqliteEngine) -> None:
    assert unmatched(stocked, PARTLY, Axes()) == ()


class Speller(Axes):
    """Knows only these words."""

    def knows(self, word: str) -> bool:
        return word in {"the", "of", "my", "city", "please", "send", "bill"}


def test_a_slip_is_corrected_by_what_the_caller_may_see(stocked: SqliteEngine) -> None:
    found = search(stocked, Speller()).run("the wether of my city", WORDS, 5, NOBODY)
    assert found.hits[0].id == "s/t/now"
    assert "wether → weather" in found.rescored.trace[-1].note
    assert found.seen.query == "the weather of my city"


def test_words_that_the_caller_may_not_see_correct_nothing(stocked: SqliteEngine) -> None:
    asked = "please send the bill of the staton"
    boss = Filter(principals=frozenset({"boss"}))
    seen = {who: search(stocked, Speller()).run(asked, WORDS, 5, who).seen.query for who in (NOBODY, boss)}
    assert seen == {NOBODY: asked, boss: "please send the bill of the station"}


def test_a_word_that_a_visible_document_has_is_right(stocked: SqliteEngine) -> None:
    asked = "the bill of my city"
    boss = Filter(principals=frozenset({"boss"}))
    assert search(stocked, Speller()).run(asked, WORDS, 5, boss).seen.query == asked


def test_a_word_that_stands_somewhere_takes_no_other_correction_with_it(stocked: SqliteEngine) -> None:
    odd = api("shear", f"{'what is done to sheep. ' * 60} The wether is shorn.")
    with stocked.writing(stocked.ensure(SCHEMA)) as writer:
        writer.write([IndexedDocument(odd, np.array((0.7, 0.7), np.float32))])
    found = search(stocked, Speller()).run("please send the wether of my citty", HYBRID, 5, NOBODY)
    assert found.seen.query == "please send the wether of my city"


def test_a_sentence_is_judged_as_it_is_understood(stocked: SqliteEngine) -> None:
    class Typed(Axes):
        def knows(self, word: str) -> bool:
            return word != "wether"

    turned = RequestMatrix("axes@1", np.array([[0, 1], [1, 0]], np.float32))
    profile = Profile("p", (Fuse(sentence=1.0),))
    for matrix in (None, turned):
        way = search(stocked, Typed(unmatched_below=0.9))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Profile, "request_matrix", lambda _, matrix=matrix: matrix)
            found = way.run("Tell me the wether of the city. Then book a table for two.", profile, 5, NOBODY)
        assert found.seen.query.startswith("Tell me the weather")
        assert found.unmatched == ("Then book a table for two.",)


def test_a_name_is_found_however_much_is_said_around_it(stocked: SqliteEngine) -> None:
    found = search(stocked).run("which inputs has `t.send` in weather of the weather", WORDS, 5, NOBODY)
    assert found.hits[0].id == "s/t/send"
