"""An encoder run brings requests near their right texts, and is chosen by searching whole catalogs."""

from __future__ import annotations

import random

import msgspec
import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_training.encoder_tasks import EncoderTask, retrieval_figures  # noqa: E402
from kitpick_training.errors import EmptyTrainingSet  # noqa: E402
from kitpick_training.examples import RankingList, RetrievalSet  # noqa: E402
from kitpick_training.loop import TrainingRun  # noqa: E402
from kitpick_training.recipe import EncoderRecipe  # noqa: E402

pytestmark = pytest.mark.needs("torch")

ASKS = ("weather", "invoice", "user", "parcel")
ANSWERS = ("recipe", "ticket", "song", "price")
"""Arbitrary pairs: only training can tell them."""


class Pairs:
    def batch(self, step, size):
        chosen = [random.Random(f"{step}/{i}").randrange(4) for i in range(size)]
        return [
            RankingList(f"get {ASKS[i]}", (ANSWERS[i], ANSWERS[(i + 1) % 4]), (True, False)) for i in chosen
        ]

    def retrieval(self):
        return [RetrievalSet("pairs", ASKS, ANSWERS, ((0,), (1,), (2,), (3,)))]


@pytest.fixture
def recipe() -> EncoderRecipe:
    return EncoderRecipe(
        name="tiny",
        steps=60,
        lists_per_step=4,
        learning_rate=3e-3,
        warmup_steps=2,
        decay_steps=10,
        validate_every=30,
        checkpoint_every=30,
        threads=1,
        temperature=0.1,
    )


def test_vectors_have_length_one_and_do_not_depend_on_company(make_sentence_encoder):
    encoder = make_sentence_encoder()
    texts = ["get weather", "song", "user price ticket get get get"]
    together = encoder(texts)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-6)
    for text, vector in zip(texts, together, strict=True):
        np.testing.assert_allclose(encoder([text])[0], vector, atol=1e-5)


def test_it_learns_which_text_answers_which_request(recipe, make_sentence_encoder, folder):
    task = EncoderTask(recipe, make_sentence_encoder(), Pairs())
    curve = TrainingRun(recipe, task, folder, lambda line: None).run()
    assert curve[-1].loss < 0.5 * curve[0].loss
    assert curve[-1].ndcg5 == 1.0


def test_a_catalog_is_searched_whole(make_sentence_encoder):
    encoder = make_sentence_encoder()
    same = RetrievalSet("same", ("song",), ("price", "song", "user"), ((1,),))
    figures = retrieval_figures(encoder, same)
    assert (figures.ndcg, figures.recall, figures.complete, figures.lists) == (1.0, 1.0, 1.0, 1)


def test_a_text_in_two_lists_is_right_for_both_requests(recipe, make_sentence_encoder):
    class Shared(Pairs):
        def batch(self, step, size):
            item = RankingList("get weather", ("song", "price"), (True, False))
            return [item, msgspec.structs.replace(item, query="get user")]

    loss = EncoderTask(recipe, make_sentence_encoder(), Shared()).loss(0)
    assert torch.isfinite(loss)


def test_without_a_held_out_request_there_is_nothing_to_choose_by(recipe, make_sentence_encoder):
    class Nothing(Pairs):
        def retrieval(self):
            return [RetrievalSet("empty", (), ("a",), ())]

    with pytest.raises(EmptyTrainingSet, match="held-out"):
        EncoderTask(recipe, make_sentence_encoder(), Nothing())
