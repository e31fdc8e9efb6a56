"""A student keeps the lowest layers, and in each the units that do most."""

from __future__ import annotations

from copy import deepcopy

import pytest

torch = pytest.importorskip("torch")

from kitpick_models.errors import UnsupportedModel  # noqa: E402
from kitpick_training.examples import RankingList  # noqa: E402
from kitpick_training.weights import freeze, shrink  # noqa: E402

pytestmark = pytest.mark.needs("torch")

LISTS = [RankingList("get song", ("song", "price"), (True, False))]


def test_the_lowest_layers_stay(make_encoder):
    model = make_encoder().model
    first, last = model.bert.encoder.layer
    shrink(model, layers=2)
    assert [*model.bert.encoder.layer] == [first, last]
    shrink(model, layers=1)
    assert [*model.bert.encoder.layer] == [first]
    assert model.config.num_hidden_layers == 1


def test_layers_can_be_spread_from_the_first_to_the_last(make_encoder):
    model = make_encoder().model
    layers = [deepcopy(model.bert.encoder.layer[0]) for _ in range(12)]
    model.bert.encoder.layer = torch.nn.ModuleList(layers)
    shrink(model, layers=6, spread=True)
    assert [layers.index(layer) for layer in model.bert.encoder.layer] == [0, 2, 4, 7, 9, 11]


def test_units_that_do_nothing_are_not_missed(make_encoder):
    encoder = make_encoder()
    with torch.no_grad():
        for layer in encoder.model.bert.encoder.layer:
            layer.output.dense.weight[:, ::2] = 0.0
    before = encoder.score_lists(LISTS)[0]
    shrink(encoder.model, feed_forward=32)
    assert encoder.model.bert.encoder.layer[0].intermediate.dense.weight.shape == (32, 32)
    assert encoder.model.config.intermediate_size == 32
    assert abs(encoder.score_lists(LISTS)[0] - before).max() < 1e-6


def test_a_unit_is_as_strong_as_what_it_reads_and_writes_by(make_encoder):
    model = make_encoder().model
    layer = model.bert.encoder.layer[0]
    with torch.no_grad():
        layer.intermediate.dense.weight[5] *= 100.0
        layer.output.dense.weight[:, 7] *= 100.0
    kept = layer.intermediate.dense.weight[[5, 7]].clone()
    shrink(model, layers=1, feed_forward=2)
    assert torch.equal(model.bert.encoder.layer[0].intermediate.dense.weight, kept)


def test_nothing_asked_is_nothing_changed(make_encoder):
    encoder, same = make_encoder(), make_encoder()
    shrink(encoder.model)
    assert (encoder.score_lists(LISTS)[0] == same.score_lists(LISTS)[0]).all()


def test_more_than_there_is_is_refused(make_encoder):
    with pytest.raises(UnsupportedModel, match="3 layers from a body of 2"):
        shrink(make_encoder().model, layers=3)
    with pytest.raises(UnsupportedModel, match="65 feed-forward units from a body of 64"):
        shrink(make_encoder().model, feed_forward=65)


def test_frozen_layers_stay_as_they_are_and_the_others_learn(make_encoder):
    encoder = make_encoder()
    freeze(encoder.model, 1)
    encoder.logits([("get song", "song")]).sum().backward()
    lower, upper = encoder.model.bert.encoder.layer
    assert all(
        weight.grad is None for weight in (*encoder.model.bert.embeddings.parameters(), *lower.parameters())
    )
    assert all(weight.grad is not None for weight in upper.parameters())
