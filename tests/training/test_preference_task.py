"""DRetriever: an encoder learns what a judge preferred, by its grades."""

from __future__ import annotations

import random

import msgspec
import pytest

torch = pytest.importorskip("torch")

from kitpick_training.encoder_tasks import PreferenceTask  # noqa: E402
from kitpick_training.errors import EmptyTrainingSet  # noqa: E402
from kitpick_training.examples import RankingList  # noqa: E402
from kitpick_training.fine_tuning import listed_retrieval_set  # noqa: E402
from kitpick_training.loop import TrainingRun  # noqa: E402
from kitpick_training.losses import listwise_loss, teacher_order  # noqa: E402
from kitpick_training.recipe import PreferenceRecipe  # noqa: E402

pytestmark = pytest.mark.needs("torch")

WORDS = ("weather", "invoice", "user", "parcel", "recipe", "ticket", "song", "price")
RECIPE = PreferenceRecipe(
    name="tiny",
    steps=60,
    lists_per_step=4,
    max_tokens=16,
    learning_rate=3e-3,
    warmup_steps=2,
    decay_steps=20,
    validate_every=60,
    validate_start=True,
    checkpoint_every=60,
    threads=1,
)


class Preferences:
    """The judge likes what comes later in the alphabet; the request does not matter to it."""

    def batch(self, step: int, size: int) -> list[RankingList]:
        rng = random.Random(step)
        return [self.one(rng) for _ in range(size)]

    def validation(self) -> list[RankingList]:
        rng = random.Random(-1)
        return [self.one(rng) for _ in range(12)]

    def one(self, rng: random.Random) -> RankingList:
        texts = tuple(rng.sample(WORDS, 4))
        grades = tuple(float(sorted(WORDS).index(text)) for text in texts)
        return RankingList(
            f"get {rng.choice(WORDS)}", texts, tuple(g == max(grades) for g in grades), grades=grades
        )


def test_the_encoder_learns_the_preference(make_sentence_encoder, folder) -> None:
    task = PreferenceTask(RECIPE, make_sentence_encoder(), Preferences())
    first, last = TrainingRun(RECIPE, task, folder, lambda line: None).run()
    assert last.ndcg5 > max(0.9, first.ndcg5)


def test_the_loss_is_contrastive_to_the_best_and_ranknet_on_all(make_sentence_encoder) -> None:
    recipe = msgspec.structs.replace(RECIPE, contrast_weight=0.5, lists_per_step=1)
    encoder, (item,) = make_sentence_encoder(), Preferences().batch(0, 1)
    scores = torch.from_numpy(encoder(item.texts) @ encoder([item.query])[0]) / recipe.temperature
    expected = 0.5 * listwise_loss(scores, torch.tensor(item.relevant))
    expected += teacher_order(scores, torch.tensor(item.grades))
    assert float(PreferenceTask(recipe, encoder, Preferences()).loss(0).detach()) == pytest.approx(
        float(expected), rel=1e-4
    )


def test_without_a_right_answer_there_is_nothing_to_choose_by(make_sentence_encoder) -> None:
    class Nothing(Preferences):
        def validation(self) -> list[RankingList]:
            return [RankingList("get user", ("user",), (False,), grades=(0.0,))]

    with pytest.raises(EmptyTrainingSet):
        PreferenceTask(RECIPE, make_sentence_encoder(), Nothing())


def test_lists_become_one_catalog_to_search_in() -> None:
    lists = [
        RankingList("one", ("a", "b"), (True, False)),
        RankingList("two", ("b", "c"), (True, True)),
        RankingList("three", ("d",), (False,)),
    ]
    made = listed_retrieval_set(lists)
    assert (made.queries, made.texts, made.relevant) == (("one", "two"), ("a", "b", "c"), ((0,), (1, 2)))
