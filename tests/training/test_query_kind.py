from __future__ import annotations

import msgspec
import numpy as np
import pytest

pytest.importorskip("torch")

from kitpick_models.manifest import read_manifest
from kitpick_models.runtime import load_query_kind
from kitpick_training.errors import EmptyTrainingSet
from kitpick_training.query_kind import (
    KindSplits,
    LabelledVectors,
    publish_query_kind,
    train_head,
)
from kitpick_training.recipe import QueryKindRecipe

pytestmark = pytest.mark.needs("torch")
RECIPE = QueryKindRecipe(name="tiny-kind", encoder="tiny", hidden=16, epochs=30, batch=64, learning_rate=0.01)


def labelled(count: int, seed: int) -> LabelledVectors:
    """Not separable by a line: several tools where the first two coordinates differ in sign."""
    rng = np.random.default_rng(seed)
    vectors = rng.normal(size=(count, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return LabelledVectors(vectors, vectors[:, 0] * vectors[:, 1] < 0)


@pytest.fixture(scope="module")
def splits() -> KindSplits:
    return KindSplits(labelled(1500, 1), labelled(300, 2), ("a", "b") * 150, ())


@pytest.fixture(scope="module")
def head(splits):
    return train_head(splits.train, splits.validation, RECIPE)


def test_it_learns_what_no_line_separates(head, splits, tmp_path):
    manifest = publish_query_kind(head, RECIPE, "tiny@1", splits, tmp_path, ("2000-01-01", "test"))
    assert {f.benchmark: f.value > 0.85 for f in manifest.figures} == {
        "held-out all": True,
        "held-out a": True,
        "held-out b": True,
    }


def test_the_runtime_answers_as_the_torch_head(head, splits, tmp_path):
    torch = pytest.importorskip("torch")
    publish_query_kind(head, RECIPE, "tiny@1", splits, tmp_path, ("2000-01-01", "test"))
    runtime = load_query_kind(tmp_path)
    x = torch.from_numpy(splits.validation.vectors)
    hidden = torch.relu(x @ torch.from_numpy(head["weight_0"]) + torch.from_numpy(head["bias_0"]))
    logits = hidden @ torch.from_numpy(head["weight_1"]) + torch.from_numpy(head["bias_1"])
    answers = [runtime.probability_multi(v) for v in splits.validation.vectors]
    np.testing.assert_allclose(answers, torch.sigmoid(logits)[:, 0].numpy(), atol=1e-5)
    assert read_manifest(tmp_path).encoder == "tiny@1"


def test_equal_seeds_give_equal_heads(head, splits):
    again = train_head(splits.train, splits.validation, RECIPE)
    assert all(np.array_equal(head[name], again[name]) for name in head)


def test_a_split_of_one_kind_is_refused(splits):
    only = msgspec.structs.replace(splits.train, multi=np.ones(1500, bool))
    with pytest.raises(EmptyTrainingSet, match="both kinds"):
        train_head(only, splits.validation, RECIPE)
