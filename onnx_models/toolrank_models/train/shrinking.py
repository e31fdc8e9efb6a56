"""A smaller transformer out of a larger one: what a student begins with."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from toolrank_models.errors import UnsupportedModel


def shrink(model: Any, layers: int = 0, feed_forward: int = 0) -> None:  # noqa: ANN401
    """Leaves the lowest layers of a BERT classifier and the strongest units of their feed-forward parts.

    The lowest layers each still read what they were trained on, and the upper ones are missed least (Sajjad
    et al. 2023, "On the effect of dropping layers"). A unit is as strong as the product of the lengths of
    what it reads by and what it writes by.

    Args:
        model: a sequence classifier on a BERT body; changed in place.
        layers: how many stay; 0: all.
        feed_forward: units that stay in each of them; 0: all.

    Raises:
        UnsupportedModel: it has fewer.
    """
    if layers:
        _keep_layers(model, layers)
    if feed_forward:
        _keep_units(model, feed_forward)


def _keep_layers(model: Any, count: int) -> None:  # noqa: ANN401
    found = model.bert.encoder.layer
    if count > len(found):
        raise UnsupportedModel(f"a student of {count} layers from a body of {len(found)}")
    model.bert.encoder.layer = nn.ModuleList(found[:count])
    model.config.num_hidden_layers = count


def _keep_units(model: Any, count: int) -> None:  # noqa: ANN401
    if count > model.config.intermediate_size:
        raise UnsupportedModel(f"{count} feed-forward units from a body of {model.config.intermediate_size}")
    for layer in model.bert.encoder.layer:
        reads, writes = layer.intermediate.dense, layer.output.dense
        strength = reads.weight.norm(dim=1) * writes.weight.norm(dim=0)
        kept = strength.topk(count).indices.sort().values
        layer.intermediate.dense = _linear(reads.weight[kept], reads.bias[kept])
        layer.output.dense = _linear(writes.weight[:, kept], writes.bias)
    model.config.intermediate_size = count


def _linear(weight: torch.Tensor, bias: torch.Tensor) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0])
    with torch.no_grad():
        made.weight.copy_(weight)
        made.bias.copy_(bias)
    return made
