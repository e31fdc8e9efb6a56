"""A model of 2 layers × 32 dimensions and lists that it can learn, both built here."""

from __future__ import annotations

import random
from pathlib import Path

import msgspec
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


def config(hidden: int = 32):
    import transformers

    return transformers.BertConfig(
        vocab_size=13,
        hidden_size=hidden,
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


@pytest.fixture(scope="session")
def pair(tmp_path_factory) -> Path:
    """The folder of two tiny encoders that are one."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from kitpick_models.manifest import Manifest
    from kitpick_training.export import export_encoder
    from kitpick_training.export.original import Original
    from kitpick_training.export.pair import Half, join

    models = tmp_path_factory.mktemp("pair")
    texts = [f"{a} {b}" for a in WORDS for b in WORDS]
    manifest = Manifest(
        "pair", "encoder", "1", "none", "Apache-2.0", storage="weight_int8", seen=("abc",), max_tokens=16
    )
    for name, layers in (("first", 2), ("second", 1)):
        torch.manual_seed(layers)
        small = config(64)
        small.num_hidden_layers = layers
        module = transformers.BertModel(small, add_pooling_layer=False).eval()
        original = Original(module, tokenizer().to_str().encode())
        export_encoder(original, models / name, manifest, texts, texts[:8])
    halves = [Half(models / "first", 1.0), Half(models / "second", 0.5)]
    join(halves, texts, models / "pair", msgspec.structs.replace(manifest, dimensions=48), reference=8)
    return models / "pair"


@pytest.fixture
def folder(tmp_path) -> Path:
    return tmp_path / "run"
