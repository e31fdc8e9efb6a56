"""Remembered lower layers give the vectors that the whole encoder gives, and stay as they are."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from kitpick_training.encoder import PartlyFrozenEncoder  # noqa: E402

pytestmark = pytest.mark.needs("torch")

TEXTS = ["get weather", "song", "user price ticket get get get"]


@pytest.mark.parametrize("layers", [0, 1, 2])
def test_vectors_are_those_of_the_whole_encoder(make_sentence_encoder, layers):
    partly = PartlyFrozenEncoder(make_sentence_encoder(), layers)
    np.testing.assert_allclose(partly(TEXTS), make_sentence_encoder()(TEXTS), atol=0.01)


def test_a_text_met_before_has_the_same_vector_alone_and_in_company(make_sentence_encoder):
    partly = PartlyFrozenEncoder(make_sentence_encoder(), 1)
    together = partly(TEXTS)
    for text, vector in zip(TEXTS, together, strict=True):
        np.testing.assert_allclose(partly([text])[0], vector, atol=1e-5)


def test_only_the_upper_layers_learn(make_sentence_encoder):
    partly = PartlyFrozenEncoder(make_sentence_encoder(), 1)
    partly.vectors(TEXTS).sum().backward()
    learned = {name for name, weight in partly.model.named_parameters() if weight.grad is not None}
    assert learned
    assert all(name.startswith("encoder.layer.1.") for name in learned)
