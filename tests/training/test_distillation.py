"""A student begins with the weights of an exported model."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_models.manifest import Manifest  # noqa: E402
from kitpick_training.cross_encoder import TrainableCrossEncoder  # noqa: E402
from kitpick_training.export import export_cross_encoder  # noqa: E402
from kitpick_training.export.original import Original  # noqa: E402
from kitpick_training.publication import ExportedScorer  # noqa: E402

pytestmark = pytest.mark.needs("torch")


@pytest.fixture
def exported(make_encoder, folder):
    encoder = make_encoder()
    manifest = Manifest("teacher", "cross_encoder", "1", "none", "MIT", storage="fp32", max_tokens=16)
    original = Original(encoder.model.eval(), encoder.tokenizer.to_str().encode())
    pairs = [("get song", "song"), ("get song", "price")]
    export_cross_encoder(original, folder / "exported", manifest, pairs, pairs)
    return folder / "exported"


def test_a_student_begins_with_the_weights_of_an_exported_teacher(recipe, make_encoder, exported):
    student, manifest = TrainableCrossEncoder.reopened(exported, recipe)
    theirs, ours = make_encoder().model.bert.encoder.layer, student.model.bert.encoder.layer
    assert (manifest.name, len(theirs), len(ours)) == ("teacher", 2, 2)
    assert torch.allclose(ours[0].output.dense.weight, theirs[0].output.dense.weight, atol=1e-6)
    assert not student.model.get_input_embeddings().weight.requires_grad


def test_an_exported_teacher_says_what_it_said_in_torch(make_encoder, source, exported):
    lists = source.batch(0, 3)
    expected = make_encoder().score_lists(lists)
    for found, scores in zip(ExportedScorer(exported).score_lists(lists), expected, strict=True):
        np.testing.assert_allclose(found, scores, atol=1e-4)
