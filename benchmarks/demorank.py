"""Demonstrations chosen in view of each other against each for itself, by a judge that wants two things.

The judge is synthetic: a question has two topics, the first worth more than the second; a demonstration shows
one topic, more or less strongly; a second one of the same topic adds nothing. All else is the product's own:
answers through the meter, greedy sequences, training lists, the recipe's losses, the selector.
"""

# ruff: noqa: ERA001
# needs: train
from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import chain, permutations
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification

from toolrank_evaluation.training_sets.demonstrations import reranker_lists, retriever_list
from toolrank_evaluation.training_sets.graded import GradedRequest
from toolrank_evaluation.training_sets.own_lists import OwnLists
from toolrank_models.train.cross_encoder import TrainableCrossEncoder
from toolrank_models.train.examples import RankingList
from toolrank_models.train.loop import TrainingRun
from toolrank_models.train.recipe import RerankerRecipe
from toolrank_models.train.reranker_task import RerankerTask
from toolrank_rescorers.demorank.feedback import Feedback
from toolrank_rescorers.demorank.greedy import greedy_sequence
from toolrank_rescorers.demorank.pool import Demonstration
from toolrank_rescorers.demorank.selecting import DemonstrationRetriever, DemonstrationSelector
from toolrank_rescorers.llm.meter import Caps, Meter
from toolrank_rescorers.llm.model import CallFailed, Completion, Likelihoods, Message

TOPICS = ("weather", "invoice", "parcel", "recipe", "ticket", "song", "price", "letter")
STRENGTHS = {"strong": 1.0, "fair": 0.8, "weak": 0.3}
TAKES = ("one", "two", "three")
SHOTS = 2
RECIPE = RerankerRecipe(
    name="joint",
    steps=400,
    lists_per_step=8,
    list_size=9,
    max_tokens=48,
    learning_rate=2e-3,
    warmup_steps=20,
    decay_steps=200,
    bce_weight=0.0,
    checkpoint_every=400,
    validate_every=400,
    chunk_pairs=72,
)


class JointJudge:
    """Says Yes with 0.5 + 0.28 × the best shown of the first topic + 0.2 × the best of the second."""

    identity = "joint"

    def likelihoods(
        self, messages: tuple[Message, ...], answers: Sequence[str], *, seconds: float
    ) -> Likelihoods:
        """Yes and No sum to one: every question here is one whose answer is Yes."""
        *shown, asked = [_request(message) for message in messages if message.role == "user"]
        best = dict.fromkeys(asked.split(), 0.0)
        for topic, strength, _ in map(str.split, shown):
            if topic in best:
                best[topic] = max(best[topic], STRENGTHS[strength])
        first, second = best.values()
        yes = 0.5 + 0.28 * first + 0.2 * second
        return Likelihoods((yes, 1.0 - yes), 0, 0)

    def complete(
        self, messages: tuple[Message, ...], *, max_tokens: int, schema: object, seconds: float
    ) -> Completion:
        """Nobody asks for words."""
        raise CallFailed("this judge only says Yes and No")


class Case(msgspec.Struct, frozen=True):
    """A question, and demonstrations to choose from."""

    question: Demonstration
    candidates: tuple[Demonstration, ...]


def _request(message: Message) -> str:
    request: str = json.JSONDecoder().raw_decode(message.content)[0]["request"]
    return request


def case(rng: random.Random, pair: tuple[str, str]) -> Case:
    """Two strong ones of the first topic, fewer of the second, some of others, in random order."""
    first, second = pair
    takes = rng.sample(TAKES, 2)
    shown = [(first, "strong", takes[0]), (first, "strong", takes[1]), (first, "fair", takes[0])]
    shown += [(second, "strong" if rng.random() < 0.7 else "weak", takes[0]), (second, "fair", takes[1])]
    others = rng.sample([topic for topic in TOPICS if topic not in pair], 4)
    shown += [(topic, rng.choice(list(STRENGTHS)), rng.choice(TAKES)) for topic in others]
    rng.shuffle(shown)
    made = (Demonstration(" ".join(words), "tool", True, "tool") for words in shown)
    return Case(Demonstration(f"{first} {second}", "tool", True, "tool"), tuple(made))


def cases(seed: int, per_pair: int) -> tuple[list[Case], list[Case]]:
    """Cases of three quarters of all pairs of topics to learn from, and of the others to be judged by."""
    rng = random.Random(seed)
    pairs = list(permutations(TOPICS, 2))
    rng.shuffle(pairs)
    made = [[case(rng, pair) for _ in range(per_pair)] for pair in pairs]
    learned = len(pairs) * 3 // 4
    return list(chain.from_iterable(made[:learned])), list(chain.from_iterable(made[learned:]))


class Scored:
    """A trained cross-encoder as the selector asks it."""

    def __init__(self, encoder: TrainableCrossEncoder) -> None:
        self._encoder = encoder

    def score(self, query: str, texts: Sequence[str]) -> NDArray[np.float32]:
        """Logits (n,)."""
        asked = RankingList(query, tuple(texts), (False,) * len(texts))
        return self._encoder.score_lists([asked])[0]


def tiny_model() -> TrainableCrossEncoder:
    """Two layers of 48 dimensions, from scratch, over the words of this judge."""
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "|", "||", "tool", "Yes", *TOPICS, *STRENGTHS, *TAKES)
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=96,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=1,
    )
    return TrainableCrossEncoder(BertForSequenceClassification(config), tokenizer, 48, RECIPE.chunk_pairs)


Lists = Callable[[Case], list[GradedRequest]]


def trained(lists: Lists, learned: Sequence[Case], held_out: Sequence[Case], run: Path) -> Scored:
    """A reranker that learned these lists."""
    made = [[item for one in part for item in lists(one)] for part in (learned, held_out)]
    encoder = tiny_model()
    task = RerankerTask(RECIPE, encoder, OwnLists(made[0], made[1], RECIPE.seed, RECIPE.list_size))
    TrainingRun(RECIPE, task, run, lambda line: None).run()
    return Scored(encoder)


def at_once(scorer: Scored, one: Case) -> list[int]:
    """The best by a scorer that sees the question and each candidate alone."""
    asked = retriever_list(one.question, one.candidates, [0.0] * len(one.candidates))
    order = np.argsort(-scorer.score(asked.text, asked.texts), kind="stable")
    return [int(place) for place in order[:SHOTS]]


def one_by_one(scorer: Scored, one: Case) -> list[int]:
    """As the stage does it."""
    retriever = DemonstrationRetriever(one.candidates, lambda texts: np.zeros((len(texts), 1), np.float32))
    selector = DemonstrationSelector(retriever, scorer)
    return selector.rerank(one.question.query, one.question.text, range(len(one.candidates)), SHOTS)


def experiment(run: Path, seed: int = 0, per_pair: int = 8) -> dict[str, float]:
    """Mean probability of the right answer on pairs of topics not trained on, by way of choosing."""
    learned, held_out = cases(seed, per_pair)
    caps = Caps(seconds=3600, calls=10**6, tokens=10**9, cost=1.0, retries=0)
    feedback = Feedback(Meter(JointJudge(), caps), "joint", run / "answers.jsonl")

    def value(one: Case, chosen: Sequence[int]) -> float:
        return feedback.values(one.question, [[one.candidates[place] for place in chosen]])[0]

    def greedy(one: Case) -> list[int]:
        def score(sequences: Sequence[Sequence[int]]) -> list[float]:
            return feedback.values(one.question, [[one.candidates[i] for i in seq] for seq in sequences])

        return greedy_sequence(len(one.candidates), SHOTS, score)

    def alone(one: Case) -> list[GradedRequest]:
        values = feedback.values(one.question, [[item] for item in one.candidates])
        return [retriever_list(one.question, one.candidates, values)]

    def chained(one: Case) -> list[GradedRequest]:
        return reranker_lists(one.question, one.candidates, greedy(one))

    independent = trained(alone, learned, held_out, run / "independent")
    paper = trained(lambda one: chained(one)[:1], learned, held_out, run / "paper")
    dependent = trained(chained, learned, held_out, run / "dependent")
    ways: dict[str, Callable[[Case], Sequence[int]]] = {
        "no demonstration": lambda one: (),
        "the first ones": lambda one: range(SHOTS),
        "each for itself": lambda one: at_once(independent, one),
        "greedy labels, the chosen not seen": lambda one: at_once(paper, one),
        "in view of the chosen": lambda one: one_by_one(dependent, one),
        "the judge's own greedy choice": greedy,
    }
    return {name: fmean(value(one, way(one)) for one in held_out) for name, way in ways.items()}


if __name__ == "__main__":
    torch.set_num_threads(2)
    with tempfile.TemporaryDirectory() as folder:
        for name, mean in experiment(Path(folder)).items():
            print(f"{name:<36} {mean:.3f}")
