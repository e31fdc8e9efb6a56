"""A set's catalog answers by any profile, with its tools and without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from battery.feature_file import FeatureRows
from battery.sets import BatteryRequest, BatterySet
from battery.systems import LoadedModels, SetSystem, open_set
from msgspec.structs import replace
from numpy.typing import NDArray

from kitpick_engines.document import ApiDocument
from kitpick_evaluation.abstention import cohort_threshold
from kitpick_evaluation.errors import EvaluationError
from kitpick_ingest.embedder import EmbeddingCache
from kitpick_ingest.progress import NullProgress
from kitpick_rescorers.features import FEATURES
from kitpick_rescorers.profiles import Profile, load_profile
from kitpick_rescorers.stages import Abstain, CrossEncode, Fuse, Learned

LEARNED = Profile("learned", (Fuse(sentence=1.0), CrossEncode(), Learned()))


class WordEncoder:
    """Every word a direction by its digest: texts of the same words are near."""

    identity = "words@1"
    dimensions = 64

    def __init__(self) -> None:
        self.texts = 0

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.texts += len(texts)
        rows = np.full((len(texts), self.dimensions), 1e-3, np.float32)
        for row, text in zip(rows, texts, strict=True):
            for word in text.lower().split():
                row[crc32(word.strip(".,:").encode()) % self.dimensions] += 1
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


class WordScorer:
    """A logit is how many words a text shares with the request, less two."""

    identity = "shared-words@1"

    def __init__(self) -> None:
        self.manifest = self
        self.thresholds = {"abstain": 0.4}

    def is_seen(self, tool_key: str) -> bool:
        return False

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        asked = set(query.lower().split())
        return np.array(
            [len(asked & set(text.lower().replace(".", " ").split())) - 2 for text in texts], "f4"
        )

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        return (1 / (1 + np.exp(-logits))).astype(np.float32)


def document(tool: str, api: str, description: str) -> ApiDocument:
    return ApiDocument(
        id=f"pets/{tool}/{api}", source="pets", category="", tool=tool, api=api, description=description
    )


PETS = (
    document("dogs", "walk", "walk the dog in the park"),
    document("dogs", "feed", "feed the dog"),
    document("walkers", "stroll", "walk a dog slowly in the park"),
    document("cats", "feed", "feed the cat"),
    document("fish", "buy", "buy a fish"),
)
WALK = BatteryRequest(
    "r1", "walk the dog in the park", frozenset({"pets/dogs/walk"}), frozenset({"pets/walkers/stroll"})
)
SET = BatterySet("pets", "validation", PETS, (WALK,))
ABSTAINING = Profile(name="sure", stages=(Fuse(), CrossEncode(), Abstain()))


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[EmbeddingCache]:
    opened = EmbeddingCache(tmp_path / "vectors.db")
    yield opened
    opened.close()


@pytest.fixture
def models() -> LoadedModels:
    return LoadedModels("test", WordEncoder(), WordScorer(), None)


@pytest.fixture
def system(tmp_path: Path, cache: EmbeddingCache, models: LoadedModels) -> Iterator[SetSystem]:
    with open_set(SET, models, tmp_path, cache, NullProgress()) as engine:
        yield SetSystem(SET, engine, models)


def test_an_outcome_lacks_what_is_neither_right_nor_wrong(system: SetSystem) -> None:
    found = system.outcome(WALK, system.asked(WALK.text, 200), load_profile("dense"))
    assert found.ids[0] == "pets/dogs/walk"
    assert "pets/walkers/stroll" not in (*found.ids, *found.first_stage)
    assert found.abstained_without is None, "the profile cannot abstain"


def test_capabilities_are_asked_one_by_one_and_joined_in_turn(system: SetSystem) -> None:
    dense = load_profile("dense")
    both = replace(
        WALK, relevant=frozenset({"pets/cats/feed", "pets/fish/buy"}), steps=("buy a fish", "feed the cat")
    )
    found = system.outcome_of_steps(both, dense, 200)
    assert found.ids[:2] == ("pets/fish/buy", "pets/cats/feed")
    assert len(set(found.ids)) == len(found.ids) == 4, "each once, without what is neither right nor wrong"
    assert found.probabilities == (None,) * 4
    assert not found.abstained
    nothing = replace(both, steps=("paint the fence", "sail the sea"))
    refused = system.outcome_of_steps(nothing, ABSTAINING, 200)
    assert (refused.ids, refused.abstained) == ((), True)


def test_a_set_of_other_requests_can_be_the_first_to_need_its_documents(
    tmp_path: Path, cache: EmbeddingCache, models: LoadedModels
) -> None:
    other = replace(SET, name="pets-capabilities", documents_of="pets")
    with open_set(other, models, tmp_path, cache, NullProgress()) as engine:
        stats = engine.stats()
    assert stats is not None
    assert stats.documents == len(PETS)


def test_a_profile_ranks_the_same_whoever_else_is_asked(system: SetSystem) -> None:
    """Candidates of all rankings are fetched together: those that a profile does not ask change nothing."""
    joint = system.asked(WALK.text, 200)
    without_words = replace(joint, candidates=[c for c in joint.candidates if c.dense is not None])
    alone = system.ranked(without_words, load_profile("dense"))
    assert [hit.id for hit in system.ranked(joint, load_profile("dense")).results] == [
        hit.id for hit in alone.results
    ]


def test_a_request_is_unanswerable_without_the_tools_that_do_the_job(system: SetSystem) -> None:
    asked = system.asked(WALK.text, 200)
    found = system.outcome(WALK, asked, ABSTAINING)
    assert (found.abstained, found.abstained_without) == (False, True)
    hidden = system.ranked(asked, ABSTAINING, {"/dogs", "/walkers"})
    assert {hit.id for hit in hidden.results} == {"pets/cats/feed", "pets/fish/buy"}


@pytest.mark.parametrize("profile", ["nnn", "toolrerank"])
def test_what_a_stage_fetches_is_hidden_as_well(system: SetSystem, profile: str) -> None:
    kind = replace(system.models, query_kind=_Single())
    asking = SetSystem(SET, system._engine, kind)
    asked = asking.asked("feed the dog", 3)
    hits = asking.ranked(asked, load_profile(profile), {"/dogs"}).results
    assert hits[0].id == "pets/cats/feed"
    assert not [hit.id for hit in hits if hit.id.startswith("pets/dogs/")]


class _Single:
    features: Sequence[str] = ()
    threshold = 0.5

    def probability_multi(self, vector: NDArray[np.float32]) -> float:
        return 0.0


def test_a_profile_that_cannot_run_in_full_is_an_error(system: SetSystem) -> None:
    lame = SetSystem(SET, system._engine, replace(system.models, scorer=None))
    with pytest.raises(EvaluationError, match="pets, rerank: cross_encode"):
        lame.outcome(WALK, lame.asked(WALK.text, 200), load_profile("rerank"))


def test_a_catalog_is_embedded_once(tmp_path: Path, cache: EmbeddingCache, models: LoadedModels) -> None:
    encoder = models.encoder
    assert isinstance(encoder, WordEncoder)
    for _ in range(2):
        with open_set(SET, models, tmp_path, cache, NullProgress()) as engine:
            stats = engine.stats()
            assert stats is not None
            assert stats.documents == len(PETS)
    assert encoder.texts == 2 * len(PETS), "each has two texts"
    changed = replace(SET, documents=(*PETS[:-1], replace(PETS[-1], description="sell a fish")))
    with open_set(changed, models, tmp_path, cache, NullProgress()):
        assert encoder.texts == 2 * (len(PETS) + 1), "only what is new, in a catalog of its own"


def test_features_hold_a_row_for_each_near_candidate(system: SetSystem, tmp_path: Path) -> None:
    asked = system.asked(WALK.text, 200)
    rows = FeatureRows(LEARNED)
    rows.add(system, WALK, asked)
    written = rows.write(tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as found:
        assert found["features"].shape == (written, len(FEATURES))
        assert list(found["names"]) == list(FEATURES)
        assert found["models"].tolist() == [system.models.encoder.identity, system.models.scorer.identity]
        answerable = found["request"] == 0
        labels = dict(zip(found["candidate"][answerable].tolist(), found["label"].tolist(), strict=False))
        assert set(labels) == {candidate.id.encode() for candidate in asked.candidates}
        assert labels[b"pets/dogs/walk"] == 1
        assert labels[b"pets/walkers/stroll"] == -1
        assert labels[b"pets/cats/feed"] == 0
        assert (found["set"][0], found["split"][0], found["wanted"].tolist()) == (
            "pets",
            "validation",
            [1, 0],
        )
        logit = found["features"][answerable, list(FEATURES).index("logit")]
        assert logit[list(labels).index(b"pets/dogs/walk")] == max(logit)


def test_features_are_those_of_a_stage_that_the_profile_must_have(system: SetSystem) -> None:
    with pytest.raises(EvaluationError, match="stage `learned`"):
        FeatureRows(load_profile("hybrid")).add(system, WALK, system.asked(WALK.text, 200))


def test_features_of_a_deprived_catalog_lack_the_tools_that_do_the_job(
    system: SetSystem, tmp_path: Path
) -> None:
    rows = FeatureRows(LEARNED)
    rows.add(system, WALK, system.asked(WALK.text, 200))
    rows.write(tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as found:
        deprived = found["request"] == 1
        assert set(found["candidate"][deprived].tolist()) <= {b"pets/cats/feed", b"pets/fish/buy"}
        assert deprived.any()
        assert not found["label"][deprived].any()


def test_a_request_of_another_catalog_is_a_list_without_an_answer_where_nothing_here_is_like_it(
    system: SetSystem, tmp_path: Path
) -> None:
    same = replace(SET, name="pets again", documents_of="pets")
    other = replace(SET, name="cars")
    rows = FeatureRows(LEARNED, [SET, same, other])
    (stranger, *_) = rows.strangers(same)
    assert [request.id for request in rows.strangers(same)] == [request.id for request in other.requests]
    assert not stranger.relevant
    asked = system.asked(WALK.text, 200)
    rows.add_stranger(system, stranger, asked)
    assert rows.write(tmp_path / "near.npz") == 0, "a pet is walked here"
    assert asked.vector is not None
    rows.add_stranger(system, stranger, replace(asked, vector=-asked.vector))
    assert rows.write(tmp_path / "far.npz") > 0
    with np.load(tmp_path / "far.npz") as found:
        assert found["wanted"].tolist() == [0]
        assert not found["label"].any()


def test_the_cohort_of_a_catalog_is_asked_without_the_tools_that_it_means(
    system: SetSystem, tmp_path: Path
) -> None:
    cohort = {request.id: request for request in system.cohort()}
    assert cohort["cohort pets/dogs/walk"].text == "walk the dog in the park"
    rows = FeatureRows(LEARNED)
    request = cohort["cohort pets/dogs/walk"]
    rows.add_cohort(system, request, system.asked(request.text, 200))
    rows.write(tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as found:
        assert b"pets/dogs/walk" not in found["candidate"].tolist()
        assert (found["style"].tolist(), found["wanted"].tolist()) == (["cohort"], [0])
        assert not found["label"].any()


class EvenRanker:
    """Likes what comes first, and is as sure of a list as its best logit says."""

    identity, features, evidence, threshold = "even@1", ("logit",), ("first_logit",), 0.1
    cohort_margin: float | None = 0.5

    def score(self, features: NDArray[np.float32]) -> NDArray[np.float32]:
        return features[:, 0]

    def probability(self, logits: NDArray[np.float32]) -> NDArray[np.float32]:
        return (1 / (1 + np.exp(-logits))).astype(np.float32)

    def probability_answerable(self, evidence: NDArray[np.float64]) -> float:
        return float(1 / (1 + np.exp(-evidence[0])))


def test_a_profile_takes_the_threshold_that_the_catalog_gives(system: SetSystem, tmp_path: Path) -> None:
    assert system.adapted(LEARNED, 200) is None, "no ranker is loaded"
    judging = SetSystem(SET, system._engine, replace(system.models, ranker=EvenRanker()))
    assert judging.adapted(ABSTAINING, 200) is None, "no ranker decides there"
    adapted = judging.adapted(LEARNED, 200)
    assert adapted is not None
    (threshold,) = (stage.threshold for stage in adapted.stages if isinstance(stage, Learned))
    sure = [
        judging.ranked(judging.asked(each.text, 200), LEARNED, judging.doing(each)).answerable
        for each in judging.cohort()
    ]
    assert threshold == pytest.approx(cohort_threshold([each for each in sure if each is not None], 0.5))
    assert judging.outcome(WALK, judging.asked(WALK.text, 200), adapted).abstained_without
    (fitted,) = judging.adapted_to([WALK] * 19, [LEARNED], 200, tmp_path)
    assert fitted.request_matrix() is None, "one request shows nothing"
    assert not judging.outcome(WALK, judging.asked(WALK.text, 200), fitted).abstained


MARKS = ("bark", "purr", "bubble", "stride", "munch")
"""A word of the house for each API, which its text lacks."""


def test_profiles_are_fitted_to_requests_in_the_words_of_a_catalog(
    tmp_path: Path, cache: EmbeddingCache, models: LoadedModels
) -> None:
    asked = tuple(
        BatteryRequest(f"r{number} {each.id}", f"{mark} number{number}", frozenset({each.id}))
        for number in range(12)
        for mark, each in zip(MARKS, PETS, strict=True)
    )
    marked = BatterySet("pets", "validation", PETS, asked)
    with open_set(marked, models, tmp_path, cache, NullProgress()) as engine:
        system = SetSystem(marked, engine, replace(models, ranker=EvenRanker()))
        plain = (load_profile("dense"), LEARNED)
        fitted = system.adapted_to(asked[:50], plain, 200, tmp_path / "matrices")
        for before, after in zip(plain, fitted, strict=True):
            matrix = after.request_matrix()
            assert matrix is not None
            assert matrix.encoder == "words@1"
            found = [
                system.outcome(each, system.asked(each.text, 200, turning), profile).ids[0] in each.relevant
                for profile, turning in ((before, None), (after, matrix))
                for each in asked[50:]
            ]
            assert sum(found[10:]) > sum(found[:10])
