"""Runs on one catalog: InfoNCE over all of its texts, and training through NNN decoding."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_training.encoder_tasks import CatalogTask, chosen_requests  # noqa: E402
from kitpick_training.errors import EmptyTrainingSet  # noqa: E402
from kitpick_training.examples import ClosedCatalog, RetrievalSet  # noqa: E402
from kitpick_training.loop import TrainingRun  # noqa: E402
from kitpick_training.nnn import NnnTask  # noqa: E402
from kitpick_training.recipe import CatalogRecipe, NnnRecipe  # noqa: E402

pytestmark = pytest.mark.needs("torch")

TEXTS = ("recipe", "ticket", "song", "price")
ASKS = ("weather", "invoice", "user", "parcel")
PAIRED = ((0, 1), (1, 2), (2, 3), (3, 0))
"""Arbitrary sets of two: only training can tell them."""


@pytest.fixture
def catalog() -> ClosedCatalog:
    queries = tuple(f"get {ask}" for ask in ASKS)
    return ClosedCatalog(queries, PAIRED, RetrievalSet("words", ASKS, TEXTS, PAIRED))


SHORT = {
    "name": "tiny",
    "steps": 80,
    "lists_per_step": 4,
    "learning_rate": 3e-3,
    "warmup_steps": 2,
    "decay_steps": 10,
    "validate_every": 40,
    "checkpoint_every": 40,
    "threads": 1,
}


def test_texts_taken_in_turn_are_all_learned(catalog, make_sentence_encoder, folder):
    recipe = CatalogRecipe(**SHORT, texts_per_step=1, temperature=0.1)
    curve = TrainingRun(recipe, CatalogTask(recipe, make_sentence_encoder(), catalog), folder, print).run()
    assert curve[-1].loss < 0.5 * curve[0].loss


@pytest.mark.parametrize(("l1", "l2"), [(0.05, 0.5), (0.0, 0.5), (0.05, 0.0)])
def test_all_penalties_bring_the_sets_forward(catalog, make_sentence_encoder, folder, l1, l2):
    recipe = NnnRecipe(**SHORT, l1=l1, l2=l2, solver_steps=40, temperature=0.1, choose_by="complete5")
    task = NnnTask(recipe, make_sentence_encoder(), catalog)
    before = float(task.loss(0).detach())
    TrainingRun(recipe, task, folder, print).run()
    assert float(task.loss(0).detach()) < 0.7 * before


def test_training_starts_at_the_untrained_decoder(catalog, make_sentence_encoder):
    encoder = make_sentence_encoder()
    task = NnnTask(NnnRecipe(**SHORT), encoder, catalog)
    cosines = (task.document_vectors() * encoder(TEXTS)).sum(axis=1)
    assert np.all(cosines > 0.99)


def test_every_request_comes_once_in_a_round(catalog):
    rounds = [chosen_requests(catalog, 1, step, 3) for step in range(2)]
    assert sorted(rounds[0] + rounds[1]) == [0, 1, 2, 3]


def test_a_run_ends_when_nothing_gets_better_for_long(catalog, make_sentence_encoder, folder):
    settings = SHORT | {"steps": 400, "validate_every": 5, "learning_rate": 1e-9}
    recipe = CatalogRecipe(**settings, patience=2, temperature=0.1)
    run = TrainingRun(recipe, CatalogTask(recipe, make_sentence_encoder(), catalog), folder, print)
    run.run()
    assert run.step == 15
    again = TrainingRun(recipe, CatalogTask(recipe, make_sentence_encoder(), catalog), folder, print)
    assert [point.step for point in again.run()] == [5, 10, 15]


def test_without_requests_there_is_nothing_to_learn_or_to_choose_by(catalog, make_sentence_encoder):
    recipe = CatalogRecipe(**SHORT)
    with pytest.raises(EmptyTrainingSet, match="learn"):
        CatalogTask(recipe, make_sentence_encoder(), msgspec.structs.replace(catalog, queries=()))
    nothing = msgspec.structs.replace(catalog.held_out, queries=())
    with pytest.raises(EmptyTrainingSet, match="choose"):
        NnnTask(
            NnnRecipe(**SHORT), make_sentence_encoder(), msgspec.structs.replace(catalog, held_out=nothing)
        )
