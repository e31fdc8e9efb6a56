"""Of two joined encoders the first learns what both together get wrong; the outcome is a pair again."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_models.manifest import MODEL, hash_tool, read_manifest  # noqa: E402
from kitpick_models.runtime import load_encoder  # noqa: E402
from kitpick_models.verify import verify  # noqa: E402
from kitpick_training.errors import NotBetter  # noqa: E402
from kitpick_training.examples import ClosedCatalog, RankingList, RetrievalSet  # noqa: E402
from kitpick_training.export.apart import is_pair, take_apart  # noqa: E402
from kitpick_training.fine_tuning import (  # noqa: E402
    Places,
    reopened_encoder,
    tune_encoder,
    tune_preference,
)
from kitpick_training.recipe import CatalogRecipe, EncoderRecipe, PreferenceRecipe  # noqa: E402

pytestmark = [pytest.mark.needs("torch"), pytest.mark.needs("onnxruntime")]

WORDS = ("weather", "invoice", "user", "parcel", "recipe", "ticket", "song", "price")
TEXTS = [*WORDS, "get weather", "user price ticket get get get"]
AFTER = WORDS[1:] + WORDS[:1]
"""The text that answers each word: arbitrary, so that only training can tell."""
RIGHT = tuple((number,) for number in range(len(WORDS)))
SHORT = {
    "name": "tiny",
    "steps": 60,
    "lists_per_step": 8,
    "max_tokens": 16,
    "learning_rate": 3e-3,
    "warmup_steps": 2,
    "decay_steps": 20,
    "validate_every": 60,
    "checkpoint_every": 60,
    "temperature": 0.1,
    "threads": 1,
}
MEASURED = ("2026-01-01", "a test")


@pytest.fixture
def places(pair: Path, tmp_path: Path) -> Places:
    return Places(pair, tmp_path / "run", tmp_path / "out")


@pytest.fixture
def catalog() -> ClosedCatalog:
    queries = tuple(f"get {word}" for word in WORDS)
    return ClosedCatalog(queries, RIGHT, RetrievalSet("words", WORDS, AFTER, RIGHT))


def described(manifest, step):
    seen = (*manifest.seen, hash_tool("mine/tool"))
    return msgspec.structs.replace(manifest, name="mine", base_model=f"{step} steps", seen=seen)


@pytest.mark.parametrize("frozen", [0, 1])
def test_before_the_first_step_its_vectors_are_those_of_the_pair(places: Places, frozen: int) -> None:
    encoder, manifest = reopened_encoder(places, EncoderRecipe(**SHORT), frozen)
    assert manifest == read_manifest(places.start)
    np.testing.assert_allclose(encoder(TEXTS), load_encoder(places.start).encode(TEXTS), atol=0.01)


def test_only_the_first_learns_and_the_other_is_asked_once_for_a_text(places: Places, monkeypatch) -> None:
    encoder, _ = reopened_encoder(places, EncoderRecipe(**SHORT))
    asked: list[str] = []
    other = encoder._other.encode
    monkeypatch.setattr(encoder._other, "encode", lambda texts: (asked.extend(texts), other(texts))[1])
    encoder(TEXTS)
    vectors = encoder.vectors([*TEXTS, *TEXTS])
    (vectors[0] @ vectors[1]).backward()
    assert sorted(asked) == sorted(TEXTS)
    assert encoder.model.encoder.layer[0].output.dense.weight.grad.abs().max() > 0
    assert len(encoder.model.encoder.layer) == 2


def test_the_outcome_is_a_pair_whose_other_encoder_stayed_and_learns_further(
    places: Places, catalog: ClosedCatalog
) -> None:
    tuned = tune_encoder(places, CatalogRecipe(**SHORT), catalog, described, MEASURED)
    assert tuned.after.ndcg > tuned.before.ndcg + 0.1
    written = read_manifest(places.out)
    assert (written.name, written.dimensions, written.max_tokens) == ("mine", 48, 16)
    assert written.seen == ("abc", hash_tool("mine/tool"))
    assert verify(places.out).sound
    before, after = (
        take_apart(folder, places.run / folder.name).folders for folder in (places.start, places.out)
    )
    same = [
        a.joinpath(MODEL).read_bytes() == b.joinpath(MODEL).read_bytes()
        for a, b in zip(before, after, strict=True)
    ]
    assert same == [False, True]
    again, _ = reopened_encoder(msgspec.structs.replace(places, start=places.out), EncoderRecipe(**SHORT))
    np.testing.assert_allclose(again(TEXTS), load_encoder(places.out).encode(TEXTS), atol=0.05)


def test_a_pair_that_became_no_better_stays(places: Places, catalog: ClosedCatalog) -> None:
    same = CatalogRecipe(**{**SHORT, "steps": 1, "validate_every": 1, "learning_rate": 1e-9})
    with pytest.raises(NotBetter, match="nothing was replaced"):
        tune_encoder(places, same, catalog, described, MEASURED)
    assert not places.out.exists()


class Preferences:
    """Graded lists: the later in the alphabet, the better."""

    def batch(self, step: int, size: int) -> list[RankingList]:
        return [self._list(step + number) for number in range(size)]

    def validation(self) -> list[RankingList]:
        return [self._list(number) for number in range(8)]

    def sample_pairs(self, count: int) -> list[tuple[str, str]]:
        lists = self.batch(0, count)
        return [(item.query, item.texts[0]) for item in lists]

    def _list(self, number: int) -> RankingList:
        texts = tuple(WORDS[(number * 3 + other) % len(WORDS)] for other in range(4))
        grades = tuple(float(sorted(WORDS).index(text)) for text in texts)
        right = tuple(grade == max(grades) for grade in grades)
        return RankingList(f"get {WORDS[number % len(WORDS)]}", texts, right, grades=grades)


def test_preferences_are_learned_by_a_pair_too(places: Places) -> None:
    recipe = PreferenceRecipe(**SHORT)
    figures = tune_preference(places, recipe, Preferences(), described, MEASURED)
    assert figures.ndcg > 0.9
    assert is_pair(places.out)
