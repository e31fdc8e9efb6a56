"""A model of 2 layers × 32 dimensions and lists that it can learn, both built here."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from kitpick_training.examples import RankingList
from kitpick_training.recipe import RerankerRecipe

WORDS = ("weather", "invoice", "user", "parcel", "recipe", "ticket", "song", "price")


class WordLists:
    """The right text is the one that shares a word with the request."""

    def batch(self, step: int, size: int) -> list[RankingList]:
        rng = random.Random(step)
        return [word_list(rng) for _ in range(size)]

    def validation(self) -> list[RankingList]:
        rng = random.Random(-1)
        return [word_list(rng) for _ in range(12)]


def word_list(rng: random.Random) -> RankingList:
    texts = tuple(rng.sample(WORDS, 4))
    right = rng.randrange(4)
    return RankingList(f"get {texts[right]}", texts, tuple(i == right for i in range(4)))


@pytest.fixture
def source() -> WordLists:
    return WordLists()


@pytest.fixture
def recipe() -> RerankerRecipe:
    return RerankerRecipe(
        name="tiny",
        steps=12,
        lists_per_step=4,
        max_tokens=16,
        learning_rate=3e-3,
        warmup_steps=2,
        decay_steps=4,
        checkpoint_every=4,
        validate_every=6,
        chunk_pairs=8,
        threads=1,
    )


def tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {word: i for i, word in enumerate(("[PAD]", "[UNK]", "[CLS]", "[SEP]", "get", *WORDS))}
    built = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    built.pre_tokenizer = pre_tokenizers.Whitespace()
    built.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return built


def config():
    import transformers

    return transformers.BertConfig(
        vocab_size=13,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=32,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=1,
    )


@pytest.fixture
def make_encoder():
    """A function that builds the tiny cross-encoder anew, with equal initial weights each time."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from kitpick_training.cross_encoder import TrainableCrossEncoder

    def make() -> TrainableCrossEncoder:
        torch.manual_seed(0)
        model = transformers.BertForSequenceClassification(config())
        return TrainableCrossEncoder(model, tokenizer(), max_tokens=16, chunk_pairs=8)

    return make


@pytest.fixture
def make_sentence_encoder():
    """A function that builds the tiny sentence encoder anew."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from kitpick_training.encoder import TrainableEncoder

    def make() -> TrainableEncoder:
        torch.manual_seed(0)
        return TrainableEncoder(transformers.BertModel(config()), tokenizer(), max_tokens=16, chunk_texts=8)

    return make


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "run"
