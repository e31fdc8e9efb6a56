"""The weights of a BERT as numpy arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from toolrank_models.errors import UnsupportedModel

Array = NDArray[np.float32]


class Bert(NamedTuple):
    """Weights by their usual names without the prefix `bert.`, and what the graph needs to know of them."""

    tensors: Mapping[str, Array]
    layers: int
    heads: int
    hidden: int
    epsilon: float

    def linear(self, name: str) -> tuple[Array, Array]:
        """Weight (in, out) and bias (out,) of a dense layer."""
        return self.tensors[f"{name}.weight"].T, self.tensors[f"{name}.bias"]

    def norm(self, name: str) -> tuple[Array, Array]:
        """Scale and shift (hidden,) of a layer normalisation."""
        return self.tensors[f"{name}.weight"], self.tensors[f"{name}.bias"]


def bert_weights(module: Any) -> Bert:  # noqa: ANN401  (torch has no part in our types)
    """Weights of a transformers BERT module, with or without a head.

    Raises:
        UnsupportedModel: another architecture or activation.
    """
    config = module.config.to_dict()
    if config["model_type"] != "bert" or config["hidden_act"] != "gelu":
        found = f"{config['model_type']} with {config['hidden_act']}"
        raise UnsupportedModel(f"only a BERT with GELU can be exported, not {found}")
    tensors = {
        name.removeprefix("bert."): tensor.detach().cpu().float().numpy()
        for name, tensor in module.state_dict().items()
    }
    return Bert(
        tensors,
        layers=config["num_hidden_layers"],
        heads=config["num_attention_heads"],
        hidden=config["hidden_size"],
        epsilon=config["layer_norm_eps"],
    )
