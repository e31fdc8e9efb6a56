"""Demonstrations chosen in view of each other, or each for itself, by a judge that wants both answers.

The judge is synthetic: it is surer the nearer the best Yes that it was shown, and the nearer the best No; a
second one of the same answer adds nothing. All else is the product's own: answers through the meter, greedy
sequences, training lists, the recipe's losses, the selector.
"""

# ruff: noqa: ERA001
# needs: train
from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import msgspec
import numpy as np
import torch
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification

from kitpick_rescorers.llm.meter import CallMeter, Caps
from kitpick_rescorers.llm.model import CallFailed, Completion, Message
from kitpick_training.cross_encoder import RerankerTask, TrainableCrossEncoder
from kitpick_training.examples import RankingList
from kitpick_training.loop import TrainingRun
from kitpick_training.own.demonstrations import reranker_lists, retriever_list
from kitpick_training.own.demorank import Demonstration, DemonstrationRetriever, DemonstrationSelector
from kitpick_training.own.feedback import ModelFeedback, greedy_sequence
from kitpick_training.own.likelihood import Likelihoods
from kitpick_training.own.lists import GradedRequest, OwnLists
from kitpick_training.recipe import RerankerRecipe

TOPICS = ("weather", "invoice", "parcel", "recipe")
NEARNESS = {"near": 1.0, "close": 0.9, "fair": 0.8, "far": 0.3}
TAKES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
SHOTS = 2
RECIPE = RerankerRecipe(
    name="joint",
    steps=200,
    lists_per_step=8,
    list_size=9,
    max_tokens=48,
    learning_rate=1e-3,
    warmup_steps=20,
    decay_steps=100,
    bce_weight=0.0,
    checkpoint_every=200,
    validate_every=50,
    chunk_pairs=72,
    threads=1,
)


class JointJudge:
    """Says Yes with 0.5 + 0.28 × the nearness of the best Yes that was shown + 0.2 × that of the best No."""

    identity = "joint"

    def likelihoods(
        self, messages: tuple[Message, ...], answers: Sequence[str], *, seconds: float
    ) -> Likelihoods:
        """Yes and No sum to one: every question here is one whose answer is Yes."""
        best = {"Yes": 0.0, "No": 0.0}
        for question, answer in pairwise(messages):
            if answer.role == "assistant":
                near = NEARNESS[_request(question).split()[1]]
                best[answer.content] = max(best[answer.content], near)
        yes = 0.5 + 0.28 * best["Yes"] + 0.2 * best["No"]
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


def case(rng: random.Random) -> Case:
    """Three Yes that are more or less near, a near No or none, and others that are far, in random order."""
    near = [("near", True), ("close", True), ("fair", True)]
    near += [("near" if rng.random() < 0.7 else "far", False), ("fair", False)]
    far = [("far", rng.random() < 0.5) for _ in range(4)]
    shown = [
        Demonstration(f"{rng.choice(TOPICS)} {word} {take}", "tool", useful, "tool")
        for take, (word, useful) in zip(rng.sample(TAKES, 9), near + far, strict=True)
    ]
    rng.shuffle(shown)
    return Case(Demonstration(" ".join(rng.sample(TOPICS, 2)), "tool", True, "tool"), tuple(shown))


def cases(seed: int, learned: int, held_out: int) -> tuple[list[Case], list[Case]]:
    """Cases to learn from, and others to be judged by."""
    rng = random.Random(seed)
    return [case(rng) for _ in range(learned)], [case(rng) for _ in range(held_out)]


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
    words = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "|", "||", "tool", "Yes", "No", *TOPICS, *NEARNESS, *TAKES)
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
        initializer_range=0.1,
    )
    return TrainableCrossEncoder(BertForSequenceClassification(config), tokenizer, 48, RECIPE.chunk_pairs)


Lists = Callable[[Case], list[GradedRequest]]


def trained(lists: Lists, learned: Sequence[Case], held_out: Sequence[Case], run: Path) -> Scored:
    """A reranker that learned these lists."""
    made = [[item for one in part for item in lists(one)] for part in (learned, held_out)]
    encoder = tiny_model()
    task = RerankerTask(RECIPE, encoder, OwnLists(made[0], made[1], RECIPE.seed, RECIPE.list_size))
    training = TrainingRun(RECIPE, task, run, lambda line: None)
    training.run()
    training.load_best()
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


def experiment(run: Path, seed: int = 0, learned: int = 200, held_out: int = 100) -> dict[str, float]:
    """Mean probability of the right answer on cases not trained on, by way of choosing."""
    known, asked = cases(seed, learned, held_out)
    caps = Caps(seconds=3600, calls=10**6, tokens=10**9, cost=1.0, retries=0)
    feedback = ModelFeedback(CallMeter(JointJudge(), caps), "joint", run / "answers.jsonl")

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

    independent = trained(alone, known, asked, run / "independent")
    paper = trained(lambda one: chained(one)[:1], known, asked, run / "paper")
    dependent = trained(chained, known, asked, run / "dependent")
    ways: dict[str, Callable[[Case], Sequence[int]]] = {
        "no demonstration": lambda one: (),
        "any two": lambda one: range(SHOTS),
        "each for itself": lambda one: at_once(independent, one),
        "greedy labels, the chosen not seen": lambda one: at_once(paper, one),
        "in view of the chosen": lambda one: one_by_one(dependent, one),
        "the judge's own greedy choice": greedy,
    }
    return {name: fmean(value(one, way(one)) for one in asked) for name, way in ways.items()}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        found = experiment(Path(folder))
    for name, mean in found.items():
        print(f"{name:<36} {mean:.3f}")
    print(json.dumps({name: round(mean, 3) for name, mean in found.items()}))
