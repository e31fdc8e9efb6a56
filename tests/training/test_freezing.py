"""Frozen layers are not trained."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from kitpick_training.weights import freeze

pytestmark = pytest.mark.needs("torch")


def test_frozen_layers_stay_as_they_are_and_the_others_learn(make_encoder):
    encoder = make_encoder()
    freeze(encoder.model, 1)
    encoder.logits([("get song", "song")]).sum().backward()
    lower, upper = encoder.model.bert.encoder.layer
    assert all(
        weight.grad is None for weight in (*encoder.model.bert.embeddings.parameters(), *lower.parameters())
    )
    assert all(weight.grad is not None for weight in upper.parameters())
